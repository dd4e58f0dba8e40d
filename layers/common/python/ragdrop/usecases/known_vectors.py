"""Vectors that need not be computed again: those of the live revision, or of another document with the same text."""

from __future__ import annotations

import hashlib
import json

from ragdrop.domain.chunks import Vector
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import EmbeddingSpace, Tenant
from ragdrop.ports import ObjectStore
from ragdrop.usecases.revision_store import RevisionStore

Vectors = dict[tuple[EmbeddingSpace, str], Vector]


class KnownVectors:
    """Finds vectors by text.  Nothing here crosses a tenant."""

    def __init__(self, state: ObjectStore, revisions: RevisionStore) -> None:
        self._state = state
        self._revisions = revisions

    def find(self, key: DocumentKey, live_revision: int | None, text: str, tenant: Tenant) -> Vectors:
        """The vectors of the live revision's chunks, and of the last document that had exactly this text.

        The same model and prefixes are part of the key, so that vectors of another space are never taken.
        """
        found = self._of(key, live_revision, tenant) if live_revision is not None else {}
        twin = self._state.get(twin_name(tenant.name, text))
        if twin is not None:
            place = json.loads(twin)
            found |= self._of(DocumentKey(tenant.name, place["vault"], place["path"]), place["revision"], tenant)
        return found

    def remember(self, key: DocumentKey, revision: int, text: str) -> None:
        """Note that this revision holds the vectors of *text*."""
        place = {"vault": key.vault, "path": key.path, "revision": revision}
        body = json.dumps(place, ensure_ascii=False).encode()
        self._state.put(twin_name(key.tenant, text), body, media_type="application/json")

    def _of(self, key: DocumentKey, revision: int, tenant: Tenant) -> Vectors:
        document = self._revisions.read_document(key, revision)
        if document is None:
            return {}
        return {
            (target.space, chunk.in_context): vector
            for target in tenant.targets
            for chunk, vector in self._revisions.read_chunks(key, revision, target.name, document.text) or []
        }


def twin_name(tenant: str, text: str) -> str:
    """The object that says which revision holds the vectors of exactly this text."""
    return f"texts/{tenant}/{hashlib.sha256(text.encode()).hexdigest()}"
