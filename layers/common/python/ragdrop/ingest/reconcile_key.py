"""Reconcile one key: read the bucket, claim a revision, parse the document, or write a tombstone."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from functools import cached_property

from ragdrop.domain.access import UNREAD_TAGS, tag_of
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Head, Status, searched_revisions
from ragdrop.domain.history import STAGE
from ragdrop.domain.keys import SIDECAR_SUFFIX, DocumentKey, is_folder
from ragdrop.domain.tenants import Tenant
from ragdrop.errors import DatabaseError, DocumentError, InvalidKeyError, ObjectStoreError
from ragdrop.ingest.activate import ActivateRevisions
from ragdrop.ingest.index_revision import CurrentVersions, IndexRevision, ParsedRevision
from ragdrop.ingest.reconcile_rules import (
    ACTIONS,
    LEASE_S,
    MAX_RECEIVES,
    SETTLE_S,
    Action,
    HeadState,
    head_state,
    is_older,
    object_state,
    stage_of,
)
from ragdrop.ingest.write_chunks import Unfinished, WriteParts
from ragdrop.ports.message_queue import Change, Delivery
from ragdrop.ports.object_store import ObjectStore, StoredObject
from ragdrop.ports.registry import Claim, Registry
from ragdrop.tenants.admission import AdmissionRecords
from ragdrop.tenants.settings_files import ApplySettings

logger = logging.getLogger(__name__)

MAX_STARTS = 5  # how often one delivery begins again because the key changed under it
MAX_BELOW = 100  # older versions of one document that are looked at
MAX_REFUSED = 3  # versions that one delivery finds unreadable, before it records so

Work = ParsedRevision | Unfinished
"""What is left to do for a key: a parsed revision to write whole, or a large one to continue part by part."""


class _Again(Enum):
    """The key changed meanwhile: it is read again."""

    AGAIN = auto()


AGAIN = _Again.AGAIN


@dataclass(frozen=True, slots=True)
class _Case:
    """A change of a key, the message that brought it, and the versions of the key that could not be read."""

    key: DocumentKey
    change: Change
    delivery: Delivery
    tenant: Tenant
    deadline: Deadline
    refused: list[CurrentVersions] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class ReconcileKey:
    """Finds out what a change means for its key, and does all but the writing of chunks."""

    documents: ObjectStore
    registry: Registry
    index_revision: IndexRevision
    write_parts: WriteParts
    live: ActivateRevisions
    apply_settings: ApplySettings
    clock: Callable[[], float]

    @cached_property
    def _due(self) -> _DueVersions:
        return _DueVersions(self.documents)

    def __call__(
        self, key: DocumentKey, change: Change, delivery: Delivery, tenant: Tenant, deadline: Deadline
    ) -> Work | None:
        """The work that is left; None where the registry agrees with the bucket.

        Raises DependencyError: a dependency did not answer, or the key changed all the time.
        """
        case = _Case(key, change, delivery, tenant, deadline)
        for _ in range(MAX_STARTS):
            head = self.registry.head(key)  # before the bucket: a tombstone is no answer to a version of meanwhile
            current = self._look(key)
            if head is not None and is_older(change.sequencer, than=head.sequencer):
                return None
            done = self._act(case, current, head)
            if done is not AGAIN:
                return done
        raise DatabaseError("the key changed repeatedly while it was read", service="registry")

    def _act(self, case: _Case, current: CurrentVersions | None, head: Head | None) -> Work | _Again | None:
        """Do what the table says; what changed meanwhile is read again."""
        now_s = self.clock()
        state = head_state(head, promoted=case.tenant.promoted, message_id=case.delivery.message_id, now_s=now_s)
        found, stage = current, None
        if current is not None and state is not HeadState.PROMOTED:
            found, stage = self._first_due(case, current, head)
        action = ACTIONS[state][object_state(head, None if found is None else found.versions)]
        if found is None or current is None:
            return self._remove(case, head)
        tag = self._tag(case, found)
        if tag == UNREAD_TAGS and self._is_replaced(case.key, current):
            return AGAIN  # a version that was removed meanwhile says nothing of who may read the others
        if head is not None and self._is_retagged(case, head, found, tag):
            return AGAIN  # whoever writes a tag reads it again: so the last write is of what stands there
        if head is not None and action is Action.GO_LIVE:
            return self._go_live(case, current, head)
        if head is not None and action in {Action.CONTINUE, Action.TAKE_OVER}:
            running = action is Action.TAKE_OVER
            begun = self.write_parts.find(head, case.tenant, case.delivery, case.change.handed_over, running=running)
            if begun is not None:
                return replace(begun, is_current=found is current)
            action = Action.LEAVE if running else Action.CLAIM
        if head is not None and action is Action.LEAVE:
            self._leave(case, head, is_current=found is current)
            return None
        return self._claim(case, head, current, found, self._claim_for(case, found, stage, now_s, tag))

    def _tag(self, case: _Case, found: CurrentVersions) -> str:
        """Who may read a version by its tags, which change without a version; what cannot be read denies.

        Raises ObjectStoreError: it may be read later, and the message comes again.
        """
        if case.key.is_settings or case.key.problem is not None:
            return ""
        try:
            tags = self.documents.tags(found.document.key, version_id=found.document.version_id)
        except ObjectStoreError as exc:
            if exc.retryable and case.delivery.receives < MAX_RECEIVES:
                raise
            extra = {"tenant": case.key.tenant, "vault": case.key.vault, "document": case.key.digest, "code": exc.code}
            logger.warning("could not read tags, only admins may read the document", extra=extra)
            return UNREAD_TAGS
        return UNREAD_TAGS if tags is None else tag_of(tags)

    def _is_retagged(self, case: _Case, head: Head, found: CurrentVersions, tag: str) -> bool:
        """Write a tag that differs from the head's, which counts from the next read on; whether it did, or tried."""
        version = found.document.version_id
        of = (head.version_id, head.tag), (head.live_version_id, head.live_tag)
        if all(each != version or (before or "") == tag for each, before in of):
            return False
        if self.registry.retag(head, version, tag):
            self.live.note_tag(case.key, tag)
        return True

    def _leave(self, case: _Case, head: Head, *, is_current: bool) -> None:
        """Finish what a message that was cut off behind its last write had left to do; any message during a reindex.

        Raises DatabaseError: a version below the current one is being indexed: the message comes again for the current.
        """
        again = head.message_id == case.delivery.message_id or len(case.tenant.targets) > 1
        if head.revision in searched_revisions(head) and again:
            self.live.finish(head, case.tenant, case.deadline)
        if not is_current:
            raise DatabaseError("a version below one that waits is being indexed", service="registry")

    def _claim(
        self, case: _Case, head: Head | None, current: CurrentVersions, found: CurrentVersions, claim: Claim
    ) -> Work | _Again | None:
        """Claim a revision and begin it; again where another worker was faster, or the object changed meanwhile."""
        claimed = self.registry.claim(case.key, head, claim)
        if claimed is None or self._is_replaced(case.key, current):
            return AGAIN  # a change between the look and the claim is seen by no other claim
        try:
            work = self._begin(case, claimed, found, first=head is None)
            return replace(work, is_current=found is current) if isinstance(work, Work) else work
        except DocumentError as exc:
            again = self._refuse(case, head, claimed, found, exc)
            return again if found is current or case.refused else AGAIN

    def _begin(self, case: _Case, claimed: Head, found: CurrentVersions, *, first: bool) -> Work | _Again | None:
        if case.key.problem is not None:
            raise InvalidKeyError(f"{case.key.problem}: copy the object to another key and delete this one")
        if case.key.is_settings:
            return None if self.apply_settings(claimed, found.document, case.tenant) else AGAIN
        work = self.index_revision.prepare(claimed, found, case.tenant, case.deadline, first=first)
        return AGAIN if work is None else work

    def _refuse(
        self, case: _Case, head: Head | None, claimed: Head, found: CurrentVersions, exc: DocumentError
    ) -> _Again | None:
        """Record the failure; where the registry was lost, look for a readable version below first."""
        keeps = is_unknown(head) and self.live.keeps_last_good(case.key, case.tenant)
        if keeps and len(case.refused) < MAX_REFUSED:
            case.refused.append(found)
            if self._due.below(case.key, found, case.tenant) is not None:
                return AGAIN
        self.live.refuse(case.key, claimed.revision, exc, case.delivery.receives, case.tenant, case.deadline)
        return None

    def _look(self, key: DocumentKey) -> CurrentVersions | None:
        """What the bucket holds now of *key*; a sidecar without its document is nothing, and so is an empty folder."""
        document = self.documents.head(key.s3_key)
        if document is None or is_folder(key.path, document.size_bytes):
            return None
        # a key that is too long may leave no room for the suffix
        sidecar = self.documents.head(key.s3_key + SIDECAR_SUFFIX) if key.problem is None else None
        return CurrentVersions(document, sidecar)

    def _is_replaced(self, key: DocumentKey, current: CurrentVersions) -> bool:
        now = self._look(key)
        return now is None or now.versions != current.versions

    def _first_due(
        self, case: _Case, current: CurrentVersions, head: Head | None
    ) -> tuple[CurrentVersions, str | None]:
        """The version to index now, and the stage that it waits in.

        Where the registry lost the document, what answered below a version that waits, or cannot be read, comes first.
        The key then differs from the bucket still, and another message brings the current version.
        """
        stage = self._due.stage(case.key, current.document, head, case.tenant)
        below = None
        if case.refused or (stage is not None and is_unknown(head)):
            below = self._due.below(case.key, case.refused[-1] if case.refused else current, case.tenant)
        return (current, stage) if below is None else (below, None)

    def _go_live(self, case: _Case, current: CurrentVersions, head: Head) -> _Again | None:
        """Activate what waits in a stage that was promoted, once every search counts it anyway.

        Raises DatabaseError: it was promoted this minute: the message comes again.
        """
        if self.clock() < case.tenant.promoted[f"{head.key.vault}/{head.stage}"] + SETTLE_S:
            raise DatabaseError("the stage was promoted this minute: its documents wait", service="registry")
        self.live.go_live(head, case.tenant, case.deadline)
        return None if (head.version_id, head.sidecar_version_id) == current.versions else AGAIN

    def _claim_for(self, case: _Case, found: CurrentVersions, stage: str | None, now_s: float, tag: str) -> Claim:
        etags = found.document.etag, found.sidecar.etag if found.sidecar else None
        message_id, sequencer = case.delivery.message_id, case.change.sequencer
        return Claim(*found.versions, message_id, now_s + LEASE_S, sequencer, now_s, *etags, stage=stage, tag=tag)

    def _remove(self, case: _Case, head: Head | None) -> _Again | None:
        """Write a tombstone; again where another worker was faster."""
        tombstone = head
        if head is not None and head.status is not Status.DELETED:
            tombstone = self.registry.tombstone(case.key, head, case.change.sequencer, self.clock())
            if tombstone is None:
                return AGAIN
            self.live.count(case.tenant, case.key, head)
        if case.key.is_settings:
            self.apply_settings.remove(case.key, tombstone.revision if tombstone else None)
        if tombstone is not None:
            self.live.clean(case.key, case.tenant, case.deadline)
        return None


class _DueVersions:
    """Finds what waits and what answers below it.  Every method raises ObjectStoreError when S3 does not answer."""

    def __init__(self, documents: ObjectStore) -> None:
        self._documents = documents
        self._records = AdmissionRecords(documents)

    def stage(self, key: DocumentKey, document: StoredObject, head: Head | None, tenant: Tenant) -> str | None:
        """The stage that a version waits in; None where it goes live as soon as it is indexed.

        Where the registry knows no live version, the record says whether this one was let in before.
        """
        if key.is_settings:
            return None
        admission = bool(tenant.settings_of(key.vault).get("golden_questions"))
        stage = stage_of(document, head, admission=admission)
        if stage is None or (head is not None and head.live_revision is not None):
            return stage
        admitted = self._records.read(key.tenant, key.vault)
        return None if admitted.holds(key.path, document, named=STAGE in document.metadata) else stage

    def below(self, key: DocumentKey, found: CurrentVersions, tenant: Tenant) -> CurrentVersions | None:
        """The newest version under *found* that does not wait; None where there is none, or it was deleted since."""
        above = found.document
        for document in self._older(key, found.document.version_id):
            if self.stage(key, document, None, tenant) is None:
                return CurrentVersions(document, self._sidecar(key, above.modified_at))
            above = document
        return None

    def _older(self, key: DocumentKey, version_id: str) -> Iterator[StoredObject]:
        """The versions under one, down to a delete marker."""
        listed = self._documents.versions(key.s3_key)
        place = next((place for place, each in enumerate(listed) if each.version_id == version_id), len(listed))
        for each in listed[place + 1 :][:MAX_BELOW]:
            stored = None if each.deleted else self._documents.head(key.s3_key, version_id=each.version_id)
            if stored is None:
                return
            yield stored

    def _sidecar(self, key: DocumentKey, until: str) -> StoredObject | None:
        """The sidecar as it was at *until*, the time of the version that came next."""
        name = key.s3_key + SIDECAR_SUFFIX
        listed = next((each for each in self._documents.versions(name) if each.modified_at <= until), None)
        if listed is None or listed.deleted:
            return None
        return self._documents.head(name, version_id=listed.version_id)


def is_unknown(head: Head | None) -> bool:
    """Whether what answered before the registry was lost is still to be found. A claim for a stage comes after that."""
    return head is None or (head.status is Status.PENDING and head.live_revision is None and head.stage is None)
