"""Roll back: put the versions of a moment back on top, and delete what was not there.  Nothing is rewritten."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import chain
from typing import Literal, Protocol

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import MAX_DELETED, MAX_DELETED_SHARE, is_mass_delete
from ragdrop.domain.history import (
    RESTORED_FROM,
    STAGE,
    WRITTEN_BY,
    Then,
    first_id,
    moment,
    moment_of_change,
    state_before,
)
from ragdrop.domain.keys import SIDECAR_SUFFIX, DocumentKey
from ragdrop.domain.tenants import Caller
from ragdrop.domain.times import rfc3339
from ragdrop.errors import InvalidParamsError
from ragdrop.past.record import change_pages, check_visible
from ragdrop.ports.object_store import ObjectStore
from ragdrop.ports.registry import Registry, head_pages

PAGE = 1_000
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
        self, *, registry: Registry, documents: ObjectStore, delete: DeleteDocument, clock: Callable[[], float]
    ) -> None:
        self._registry = registry
        self._documents = documents
        self._delete = delete
        self._clock = clock

    def __call__(self, caller: Caller, vault: str, way: WayBack, deadline: Deadline) -> Rollback:
        """Take documents of a vault back to what they were; up to 200 of them, by path, until the time is over.

        Raises:
            InvalidParamsError: The vault is out of the key's scope, there is no such moment, or too much would go.
            DependencyError: A service failed; the same call continues.
        """
        check_visible(caller, vault)
        plan = self._plan(caller.tenant, vault, way)
        deletions = sum(1 for then in plan.values() if then.revision is None)
        if not (way.dry_run or way.allow_mass_delete):
            self._refuse_mass_delete(caller.tenant, vault, deletions)
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
        return {key: each for key, each in then.items() if key.path.startswith(way.prefix)}

    def _refuse_mass_delete(self, tenant: str, vault: str, deletions: int) -> None:
        if deletions <= MAX_DELETED:
            return
        enough = int(deletions / MAX_DELETED_SHARE)
        known = 0
        for heads in head_pages(self._registry, tenant, vault=vault, size=PAGE):
            known += len(heads)
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
