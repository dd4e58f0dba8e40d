"""The record of the past: versions and changes of documents, and rollbacks to them."""

import re
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from itertools import chain, islice
from typing import Literal, Protocol

from ragdrop.domain.deadlines import Deadline, rfc3339
from ragdrop.domain.documents import MAX_DELETED, MAX_DELETED_SHARE, Head, Page, Status, is_mass_delete
from ragdrop.domain.history import (
    RESTORED_FROM,
    STAGE,
    WRITTEN_BY,
    LiveChange,
    Then,
    first_id,
    head_then,
    milliseconds,
    moment,
    moment_of_change,
    state_before,
)
from ragdrop.domain.keys import SIDECAR_SUFFIX, DocumentKey
from ragdrop.domain.tenants import Caller
from ragdrop.errors import DocumentNotFoundError, InvalidParamsError
from ragdrop.ingest.revision_store import RevisionStore
from ragdrop.ports.object_store import ObjectStore
from ragdrop.ports.registry import Registry, head_pages
from ragdrop.query.understand import visible_vaults
from ragdrop.tenants.permissions import MAX_BATCH, TIMEOUT_S, Permissions

PAGE = 1_000  # changes, or heads, of one read
MAX_PASSAGES = 20  # shown of each kind
MAX_CHARACTERS = 500  # shown of one
MAX_COMPARED = 3_000  # passages of a text; what stands behind them is not compared
_GAP = re.compile(r"\n\s*\n")
MAX_WITH_TEXT = 20  # versions whose texts one request compares: two reads of the state bucket each
MAX_TEXT = 400_000  # characters of a text that are compared

VersionStatus = Literal["live", "replaced", "pending", "failed", "deleted"]


@dataclass(frozen=True, slots=True)
class TextChange:
    """Passages that only the newer text has, and those that only the older one had; `cut` says that there are more."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    cut: bool = False


@dataclass(frozen=True, slots=True)
class DocumentVersion:
    """One version of a document: what it was, when, and what it changed where that was asked for.

    `revision` is None of a version that ingest has not taken on; `change_id` of one that was not recorded.
    """

    status: VersionStatus
    at_ms: int
    version_id: str | None
    revision: int | None
    size_bytes: int | None = None
    written_by: str | None = None
    change_id: str | None = None
    before: int | None = None
    text: TextChange | None = None


@dataclass(frozen=True, slots=True)
class Versions:
    """Versions of a document, the newest first; `cursor` asks for those before, None ends."""

    key: DocumentKey
    versions: list[DocumentVersion] = field(default_factory=list)
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes of a vault in their order; `cursor` asks for those behind, now or once there are some."""

    changes: list[LiveChange]
    cursor: str
    more: bool


def check_visible(caller: Caller, vault: str) -> None:
    """Return if *caller* may see *vault*. Raises InvalidParamsError: it is out of the key's scope."""
    if not caller.may_see(vault):
        raise InvalidParamsError(f"there is no vault named {vault[:80]!r}", field="vault", value=vault[:80])


def change_pages(registry: Registry, tenant: str, vault: str, *, after: str) -> Iterator[list[LiveChange]]:
    """The changes of a vault behind an id, in order, up to 1,000 at once; the last page may be empty."""
    while True:
        page = registry.changes(tenant, vault, after=after, limit=PAGE)
        yield page
        if len(page) < PAGE:
            return
        after = page[-1].id


class DocumentHistory:
    """Reads the record of the past.  Every method raises DependencyError where a service does not answer."""

    def __init__(
        self, *, registry: Registry, revisions: RevisionStore, permissions: Permissions, clock: Callable[[], float]
    ) -> None:
        self._registry = registry
        self._revisions = revisions
        self._permissions = permissions
        self._clock = clock

    def versions(
        self, caller: Caller, key: DocumentKey, *, cursor: str | None, limit: int, with_text: bool = False
    ) -> Versions:
        """Versions of a document; by *with_text* at most 20, each with the passages that it changed.

        Raises:
            DocumentNotFoundError: There never was such a document, it was purged, or the caller may not read it.
            InvalidParamsError: The cursor is not one that was given out.
        """
        head = self._registry.head(key) if caller.may_see(key.vault) else None
        if head is None or not self._permissions.allows(caller, key, head):
            name = key.vault_path[:300]
            raise DocumentNotFoundError(f"there is no document {name!r}", field="path", value=name)
        limit = min(limit, MAX_WITH_TEXT) if with_text else limit
        found = self._registry.changes_of(key, before_revision=_revision_of(cursor), limit=limit + 1)
        listed = [_version(change, head) for change in found[:limit]]
        if cursor is None:
            listed = [*self._unrecorded(head, listed), *listed][: max(limit, 1)]
        if with_text:
            listed = [replace(version, text=self._text_change(key, version)) for version in listed]
        more = len(found) > limit
        last = next((version.revision for version in reversed(listed) if version.revision is not None), None)
        return Versions(key, listed, str(last) if more and last is not None else None)

    def changes(
        self,
        caller: Caller,
        vault: str,
        *,
        since: str | None,
        cursor: str | None,
        limit: int,
        newest_first: bool = False,
    ) -> Changes:
        """Changes of a vault behind *cursor*, else from the time *since* on, else from the beginning of the retention.

        With *newest_first* they go back in time from *cursor*, else from the present, as far as *since*.  What the
        caller may not read now is left out, so a page may hold fewer, and no cursor names it.

        Raises:
            InvalidParamsError: The caller may not see the vault, or *since* is no time within the retention.
        """
        check_visible(caller, vault)
        start = "" if since is None else first_id(moment(since, now_s=self._clock(), field="since"))
        after = start if newest_first else cursor or start
        before = cursor or "" if newest_first else None
        last = cursor or after
        while True:
            found = self._registry.changes(caller.tenant, vault, after=after, limit=limit + 1, before=before)
            shown = found[:limit]
            readable = self._permissions.readable_keys(caller, (change.key for change in shown))
            visible = [change for change in shown if change.key in readable]
            if visible or len(found) <= limit:
                return Changes(visible, visible[-1].id if visible else last, len(found) > limit)
            after, before = (after, shown[-1].id) if newest_first else (shown[-1].id, None)

    def documents(
        self, caller: Caller, as_of: str, *, vault: str | None, prefix: str, cursor: str | None, limit: int
    ) -> Page:
        """One page of the documents that answered at the time *as_of*, by vault and path, as they were then.

        Left out are settings files, what was purged since, and what the caller may not read now.

        Raises InvalidParamsError: *as_of* is no time within the retention.
        """
        at_ms = moment(as_of, now_s=self._clock())
        tenant = self._registry.tenant(caller.tenant)
        vaults = visible_vaults(tenant.vaults if tenant is not None else (), caller.vaults)
        vaults = tuple(each for each in vaults if vault in {None, each})

        def differing() -> dict[DocumentKey, Then]:
            pages = (change_pages(self._registry, caller.tenant, each, after=first_id(at_ms + 1)) for each in vaults)
            found = state_before(chain.from_iterable(chain.from_iterable(pages)))
            return {key: each for key, each in found.items() if key.path.startswith(prefix)}

        then = differing()

        def read(*, cursor: str | None, limit: int) -> Page:
            after = cursor or ""
            found: list[Head] = []
            while True:
                page = self._registry.page(
                    caller.tenant, vault=vault, prefix=prefix, status=None, cursor=None, limit=limit, after=after
                )
                live = [head for head in page.heads if head.live_revision is not None]
                if any(head.key not in then and milliseconds(head.updated_at) > at_ms for head in live):
                    then.update(differing())  # what came since the changes were read
                last = page.heads[-1].key.vault_path if page.cursor else None
                changed = [key for key in then if key.vault_path > after and (last is None or key.vault_path <= last)]
                heads = [head for head in live if head.key not in then]
                found += (
                    replace(head, status=Status.INDEXED, error=None) for head in heads if not head.key.is_settings
                )
                found += islice(self._heads_then({key: then[key].revision for key in sorted(changed)}), limit + 1)
                found.sort(key=lambda head: head.key.vault_path)
                if len(found) > limit or (last is not None and len(found) == limit):
                    return Page(found[:limit], found[limit - 1].key.vault_path)
                if last is None:
                    return Page(found, None)
                after = last

        return self._permissions.page(caller, read, cursor, limit) if vaults else Page([], None)

    def _heads_then(self, revisions: Mapping[DocumentKey, int | None]) -> Iterator[Head]:
        """The heads of documents with the revisions that counted, in order, without those that were purged since."""
        counted = [(key, revision) for key, revision in revisions.items() if revision is not None]
        for first in range(0, len(counted), MAX_BATCH):
            within, batch = Deadline.after(TIMEOUT_S), counted[first : first + MAX_BATCH]
            heads = self._registry.heads([key for key, _ in batch], within).found
            for detail in sorted(self._registry.details(batch, within), key=lambda detail: detail.key):
                if detail.key in heads:
                    yield replace(head_then(heads[detail.key], detail), updated_at=detail.facts.indexed_at)

    def _unrecorded(self, head: Head, listed: list[DocumentVersion]) -> list[DocumentVersion]:
        """What the head says and no change does: a version under way, and one from before changes were recorded."""
        found = []
        if head.status is Status.PENDING:
            at_ms = milliseconds(head.updated_at)
            found.append(DocumentVersion("pending", at_ms, head.version_id, head.revision, before=head.live_revision))
        live = head.live_revision
        if live is not None and not any(version.revision == live for version in listed):
            detail = self._registry.detail(head.key, live)
            if detail is not None and not listed:
                at_ms = milliseconds(detail.facts.indexed_at)
                found.append(DocumentVersion("live", at_ms, head.live_version_id, live, detail.size_bytes))
        return found

    def _text_change(self, key: DocumentKey, version: DocumentVersion) -> TextChange:
        after = self._text(key, version.revision) if version.status in {"live", "replaced"} else ""
        if version.status in {"pending", "failed"}:
            return TextChange()
        return text_change(self._text(key, version.before), after)

    def _text(self, key: DocumentKey, revision: int | None) -> str:
        stored = None if revision is None else self._revisions.open(key, revision)
        return (stored.span(0, MAX_TEXT) or "") if stored is not None else ""


def _version(change: LiveChange, head: Head) -> DocumentVersion:
    status: VersionStatus = "live" if change.revision == head.live_revision else "replaced"
    if change.kind != "activated":
        status = "failed" if change.kind == "failed" else "deleted"
    return DocumentVersion(
        status,
        change.at_ms,
        change.version_id,
        change.revision,
        size_bytes=change.size_bytes,
        written_by=change.written_by,
        change_id=change.id,
        before=change.before,
    )


def _revision_of(cursor: str | None) -> int | None:
    if cursor is None:
        return None
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) <= 16):
        raise InvalidParamsError("cursor: is not one that was given out", field="cursor", value=cursor[:80])
    return int(cursor)


def text_change(before: str, after: str) -> TextChange:
    r"""The passages that differ, each a paragraph with its white space folded.

    >>> text_change("# Pump\n\nIt is red.\n\nIt holds 7 l.", "# Pump\n\nIt is blue.\n\nIt holds 7 l.")
    TextChange(added=('It is blue.',), removed=('It is red.',), cut=False)
    """
    old, new = _passages(before), _passages(after)
    compared = SequenceMatcher(None, old[:MAX_COMPARED], new[:MAX_COMPARED], autojunk=False)
    added: list[str] = []
    removed: list[str] = []
    for step, old_start, old_end, new_start, new_end in compared.get_opcodes():
        if step != "equal":
            removed += old[old_start:old_end]
            added += new[new_start:new_end]
    long = any(len(passage) > MAX_CHARACTERS for passage in (*added[:MAX_PASSAGES], *removed[:MAX_PASSAGES]))
    cut = long or max(len(added), len(removed)) > MAX_PASSAGES or max(len(old), len(new)) > MAX_COMPARED
    return TextChange(_shown(added), _shown(removed), cut)


def _passages(text: str) -> list[str]:
    folded = (" ".join(passage.split()) for passage in _GAP.split(text))
    return [passage for passage in folded if passage]


def _shown(passages: list[str]) -> tuple[str, ...]:
    return tuple(passage[:MAX_CHARACTERS] for passage in passages[:MAX_PASSAGES])


AT_ONCE = 8  # documents put back beside each other: up to six requests of S3 each
MAX_STEPS = 200  # of one call
RESERVE_S = 5.0  # with less time left a call ends, and the next one continues

Action = Literal["restore", "delete", "done", "lost"]
"""Put the version back, delete the document, nothing to do, nothing possible as the version is no longer stored."""


class DeleteDocument(Protocol):
    """Deletes a document at once."""

    def __call__(self, caller: Caller, key: DocumentKey) -> str | None:
        """Delete it; the version id of its delete marker."""
        ...


@dataclass(frozen=True, slots=True)
class WayBack:
    """Back to when, and how."""

    to: str  # a time within the retention, or the id of the last change that stays
    prefix: str = ""  # only paths that begin so
    path: str | None = None  # only this document
    cursor: str | None = None  # the last path of the part before
    dry_run: bool = False  # say what would be done
    allow_mass_delete: bool = False  # delete however many there are


@dataclass(frozen=True, slots=True)
class RollbackStep:
    """What is to be done, or was done, to one document.

    `version_id` is of then, None where there was none; `new_version_id` is what now stands on top.
    """

    key: DocumentKey
    action: Action
    version_id: str | None
    new_version_id: str | None = None


@dataclass(frozen=True, slots=True)
class Rollback:
    """One call's part of a rollback: its steps, and how many documents it is about in all.

    `cursor` asks for the next part, None ends; `deletions` counts documents that were not there then.
    """

    steps: list[RollbackStep]
    documents: int
    deletions: int
    cursor: str | None


class RollBack:
    """Plans and makes rollbacks.  A call that is cut off is repeated: what is done already is found so."""

    def __init__(
        self,
        *,
        registry: Registry,
        documents: ObjectStore,
        delete: DeleteDocument,
        permissions: Permissions,
        clock: Callable[[], float],
    ) -> None:
        self._permissions = permissions
        self._registry = registry
        self._documents = documents
        self._delete = delete
        self._clock = clock

    def __call__(self, caller: Caller, vault: str, way: WayBack, deadline: Deadline) -> Rollback:
        """Take documents of a vault back to what they were; up to 200 of them, by path, until the time is over.

        Those that the caller may not read stay as they are.

        Raises:
            InvalidParamsError: The vault is out of the key's scope, there is no such moment, or too much would go.
            DependencyError: A service failed; the same call continues.
        """
        check_visible(caller, vault)
        plan = self._plan(caller.tenant, vault, way)
        readable = self._permissions.readable_keys(caller, plan)
        plan = {key: then for key, then in plan.items() if key in readable}
        deletions = sum(1 for then in plan.values() if then.revision is None)
        if not (way.dry_run or way.allow_mass_delete):
            self._refuse_mass_delete(caller, vault, deletions)
        left = [key for key in sorted(plan) if way.cursor is None or key.path > way.cursor]
        steps: list[RollbackStep] = []
        with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="ragdrop-rollback") as pool:
            for first in range(0, min(len(left), MAX_STEPS), AT_ONCE):
                if deadline.remaining_s() < RESERVE_S:
                    break
                keys = left[first : min(first + AT_ONCE, MAX_STEPS)]
                steps += pool.map(lambda key: self._step(caller, key, plan[key], dry_run=way.dry_run), keys)
        cursor = steps[-1].key.path if steps else way.cursor or ""
        return Rollback(steps, len(plan), deletions, cursor if len(steps) < len(left) else None)

    def _plan(self, tenant: str, vault: str, way: WayBack) -> Mapping[DocumentKey, Then]:
        """What each document that changed since was then."""
        at_ms = moment_of_change(way.to)
        time = way.to if at_ms is None else rfc3339(at_ms / 1_000, precision="milliseconds")
        within = moment(time, now_s=self._clock(), field="to")
        after = first_id(within + 1) if at_ms is None else way.to
        pages = change_pages(self._registry, tenant, vault, after=after)
        then = state_before(chain.from_iterable(pages), all_touched=True)
        return {
            key: each for key, each in then.items() if key.path.startswith(way.prefix) and way.path in {None, key.path}
        }

    def _refuse_mass_delete(self, caller: Caller, vault: str, deletions: int) -> None:
        if deletions <= MAX_DELETED:
            return
        enough = int(deletions / MAX_DELETED_SHARE)
        known = 0
        for heads in head_pages(self._registry, caller.tenant, vault=vault, size=PAGE):
            known += len(self._permissions.readable(caller, heads))
            if known >= enough:
                break
        if is_mass_delete(deletions, known):
            message = f"{deletions} of {known} documents of vault {vault} would be deleted; nothing was done"
            raise InvalidParamsError(message, field="allow_mass_delete", value=False, allowed=[True])

    def _step(self, caller: Caller, key: DocumentKey, then: Then, *, dry_run: bool) -> RollbackStep:
        if then.revision is None or then.version_id is None:
            there = self._documents.head(key.s3_key) is not None
            step = RollbackStep(key, "delete" if there else "done", None)
            return step if dry_run or not there else replace(step, new_version_id=self._delete(caller, key))
        step = self._restored(caller, key, key.s3_key, then.version_id, dry_run=dry_run)
        beside = key.s3_key + SIDECAR_SUFFIX
        if then.sidecar_version_id is not None:
            sidecar = self._restored(caller, key, beside, then.sidecar_version_id, dry_run=dry_run)
            return step if step.action != "done" else replace(sidecar, version_id=step.version_id)
        if self._documents.head(beside) is not None:
            if not dry_run:
                self._documents.delete(beside)
            return replace(step, action="restore") if step.action == "done" else step
        return step

    def _restored(self, caller: Caller, key: DocumentKey, name: str, version_id: str, *, dry_run: bool) -> RollbackStep:
        """One object at its version of then: on top already, put there, or no longer stored."""
        current = self._documents.head(name)
        if current is not None and version_id in {current.version_id, current.metadata.get(RESTORED_FROM)}:
            return RollbackStep(key, "done", version_id, current.version_id)
        if dry_run:
            return RollbackStep(key, "restore", version_id)
        metadata = {WRITTEN_BY: caller.writer, RESTORED_FROM: version_id, STAGE: ""}
        stored = self._documents.copy_version(name, version_id, metadata=metadata)
        if stored is None:
            return RollbackStep(key, "lost", version_id)
        return RollbackStep(key, "restore", version_id, stored.version_id)
