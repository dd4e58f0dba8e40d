"""Retry: let ingest recheck a failed document."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass

from ragdrop.domain.documents import Status
from ragdrop.domain.keys import SIDECAR_SUFFIX, DocumentKey
from ragdrop.domain.tenants import Caller
from ragdrop.errors import DocumentNotFoundError
from ragdrop.ports import Claim, MessageQueue, ObjectStore, Registry


@dataclass(frozen=True, slots=True)
class Retried:
    """What is being looked at again, and where it stands until then."""

    key: DocumentKey
    version_id: str
    status: Status


class RetryDocuments:
    """Asks ingest to look again; ingest finds out by itself what there is to do."""

    def __init__(
        self, *, documents: ObjectStore, registry: Registry, queue: MessageQueue, clock: Callable[[], float]
    ) -> None:
        self._documents = documents
        self._registry = registry
        self._queue = queue
        self._clock = clock

    def __call__(self, caller: Caller, key: DocumentKey) -> Retried:
        """Send the message, then let the document say `pending` where it said `failed`.

        That is a claim whose lease is over already: ingest takes the next one, and whoever still works on the failed
        revision has lost it.

        Raises:
            DocumentNotFoundError: The bucket has no such object, or the vault is out of the key's scope.
        """
        stored = self._documents.head(key.s3_key) if caller.may_see(key.vault) else None
        if stored is None:
            name = key.vault_path[:300]
            raise DocumentNotFoundError(f"there is no document {name!r}", field="path", value=name)
        head = self._registry.head(key)
        self._queue.send(key.s3_key)
        if head is None:
            return Retried(key, stored.version_id, Status.PENDING)
        if head.status is Status.FAILED:
            sidecar = self._documents.head(key.s3_key + SIDECAR_SUFFIX)
            now_s = self._clock()
            versions = stored.version_id, sidecar.version_id if sidecar else None
            etags = stored.etag, sidecar.etag if sidecar else None
            claim = Claim(*versions, f"retry-{uuid.uuid4()}", now_s, None, now_s, *etags)
            self._registry.claim(key, head, claim)  # lost: ingest was faster
            return Retried(key, stored.version_id, Status.PENDING)
        settled = head.status is Status.INDEXED and head.live_version_id == stored.version_id
        return Retried(key, stored.version_id, Status.INDEXED if settled else Status.PENDING)
