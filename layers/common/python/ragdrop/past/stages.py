"""Stages: documents that are indexed and wait; promoted by one write, or discarded."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, TypeVar

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Head, Heads, Status
from ragdrop.domain.golden import GoldenQuestion, golden_questions
from ragdrop.domain.history import WAITING
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.retrieval import Query, Retrieval
from ragdrop.domain.tenants import Caller, Tenant
from ragdrop.errors import ConflictError, DatabaseError, InvalidParamsError, ProjectNotActivatedError
from ragdrop.ingest.reconcile_rules import stage_of
from ragdrop.past.record import check_visible
from ragdrop.ports.message_queue import MessageQueue
from ragdrop.ports.object_store import ObjectStore
from ragdrop.ports.registry import Registry, head_pages
from ragdrop.query.cache import Searching
from ragdrop.tenants.admission import AdmissionRecords
from ragdrop.tenants.directory import TenantDirectory
from ragdrop.tenants.permissions import Permissions

TOP = 3  # documents among which a golden question wants what it expects
AT_ONCE = 4  # golden questions asked beside each other
Result = TypeVar("Result")


class AskGolden:
    """Asks one golden question by the whole search; it counts no use of a document and reads no cached answer."""

    def __init__(self, search: Searching) -> None:
        self._search = search

    def __call__(
        self, golden: GoldenQuestion, caller: Caller, vault: str, deadline: Deadline, *, stage: str | None = None
    ) -> bool:
        """Whether it is answered now, or with a stage.

        Raises DependencyError: less than the whole search could be done, so that nothing can be said.
        """
        query = Query(
            golden.question, vaults=(vault,), limit=2 * TOP, stage=stage, follow_links=False, allow_fallback=False
        )
        try:
            found = self._search(query, caller, deadline)
        except InvalidParamsError:  # the vault has no document yet
            return False
        if found.degraded:
            raise DatabaseError(found.warnings[0], service="index")
        return is_answered(found, golden, vault)


def in_parallel(ask: Callable[[GoldenQuestion], Result], questions: Sequence[GoldenQuestion]) -> tuple[Result, ...]:
    """What *ask* gives for each question, four at a time."""
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="ragdrop-golden") as pool:
        return tuple(pool.map(ask, questions))


def is_answered(found: Retrieval, golden: GoldenQuestion, vault: str) -> bool:
    """Whether one of the first documents is the one expected, or shows the text expected."""
    for document in [*found.critical, *found.documents][:TOP]:
        if golden.text and _folded(golden.text) in _folded(document.text):
            return True
        if golden.document in {document.key.path, f"{vault}/{document.key.path}"}:
            return True
    return False


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


PAGE = 100  # documents of a listing, which one batch reads again
TIMEOUT_S = 10.0
GATE = 1.0  # the share of golden questions that must be answered, where the settings do not say
MAX_VERSIONS = 100  # of a document that one discard removes


@dataclass(frozen=True, slots=True)
class StageOfVault:
    """A stage: what waits in it, what is still being indexed for it, and whether it was promoted already."""

    vault: str
    name: str
    waiting: tuple[DocumentKey, ...]
    pending: int
    promoted: bool


@dataclass(frozen=True, slots=True)
class GoldenResult:
    """One golden question: whether what it expects was among the first three, now and with the stage."""

    question: str
    expected: str
    live: bool
    staged: bool


@dataclass(frozen=True, slots=True)
class Promotion:
    """What a promotion came to: the documents that went live, and the golden questions that were asked."""

    documents: int
    checks: tuple[GoldenResult, ...]


def _whole(caller: Caller, vault: str) -> Caller:
    """Who reads all of a vault: a stage is promoted whole, whoever asks for it."""
    return Caller(caller.tenant, "admin", (vault,))


class _OfGolden(Protocol):
    """What came of a golden question."""

    @property
    def expected(self) -> str: ...


Golden = TypeVar("Golden", bound=_OfGolden)


def shown_golden(
    found: Sequence[Golden], caller: Caller, tenant: Tenant | None, vault: str, permissions: Permissions
) -> tuple[Golden, ...]:
    """Those of *found* that *caller* may know of: not those about a document that it may not read.

    Where the vault has rules or restricted documents, questions that expect a text are for admins: nobody knows whose
    text it is.
    """
    if not found or tenant is None or not tenant.may_hide(caller, (vault,)):
        return tuple(found)
    paths = {each.expected: each.expected.removeprefix(f"{vault}/") for each in found}
    readable = permissions.readable_keys(caller, (DocumentKey(caller.tenant, vault, path) for path in paths.values()))
    return tuple(each for each in found if DocumentKey(caller.tenant, vault, paths[each.expected]) in readable)


class Stages:
    """Lists, promotes and discards stages.  Every method raises DependencyError where a service does not answer."""

    def __init__(
        self,
        *,
        registry: Registry,
        documents: ObjectStore,
        queue: MessageQueue,
        directory: TenantDirectory,
        permissions: Permissions,
        ask: AskGolden,
        clock: Callable[[], float],
    ) -> None:
        self._registry = registry
        self._documents = documents
        self._admissions = AdmissionRecords(documents)
        self._queue = queue
        self._directory = directory
        self._permissions = permissions
        self._ask = ask
        self._clock = clock

    def of(self, caller: Caller, vault: str) -> list[StageOfVault]:
        """The stages of a vault, by name, with what *caller* may read of them.

        Raises InvalidParamsError: the vault is out of the key's scope.
        """
        check_visible(caller, vault)
        tenant = self._directory.tenant(caller.tenant, fresh=True)
        promoted = set(tenant.promoted) if tenant is not None else set()
        waiting: dict[str, list[DocumentKey]] = {}
        pending: dict[str, int] = {}
        readable = partial(self._permissions.readable, caller)
        for head in readable(self._staged(self._heads(caller.tenant, vault, Status.STAGED), caller)):
            waiting.setdefault(head.stage or "", []).append(head.key)
        for head in readable(self._heads(caller.tenant, vault, Status.PENDING)):
            if head.stage is not None:
                pending[head.stage] = pending.get(head.stage, 0) + 1
        return [
            StageOfVault(vault, name, tuple(waiting.get(name, ())), pending.get(name, 0), f"{vault}/{name}" in promoted)
            for name in sorted({*waiting, *pending})
        ]

    def promote(self, caller: Caller, vault: str, name: str, deadline: Deadline) -> Promotion:
        """Let all that waits in a stage answer, from one moment on; where the vault has golden questions, if they pass.

        Ingest then makes the documents live one by one, a minute later: every search counts the stage by then.

        Raises:
            InvalidParamsError: Nothing waits in such a stage, or the vault is out of the key's scope.
            ConflictError: Documents are still being indexed for it, or golden questions do not pass.
        """
        stage = self._stage(caller, vault, name)
        if not caller.reads_all:
            stage = self._stage(_whole(caller, vault), vault, name)
        if stage.pending:
            message = f"{stage.pending} documents are still being indexed for stage {name}: ask again"
            raise ConflictError(message, field="stage", value=name, allowed=None)
        checks = () if stage.promoted else self._admitted(caller, vault, name, deadline)
        self._record(caller.tenant, vault, name)  # before: what the bucket says of a promotion cut off does no harm
        self._registry.promote_stage(caller.tenant, f"{vault}/{name}", self._clock())
        self._directory.forget(caller.tenant)
        keys = self._record(caller.tenant, vault, name)  # after: what joined in between was promoted with it
        self._queue.send_all([key.s3_key for key in keys])
        return Promotion(len(keys), checks)

    def _record(self, tenant: str, vault: str, name: str) -> list[DocumentKey]:
        """Note in the bucket which versions a promotion lets in: those that wait.  Their keys."""
        waiting = [head for head in self._heads(tenant, vault, Status.STAGED) if head.stage == name]
        self._admissions.promote(tenant, vault, {head.key.path: head.version_id or "" for head in waiting})
        return [head.key for head in waiting]

    def discard(self, caller: Caller, vault: str, name: str) -> int:
        """Remove the versions that wait in a stage; what answered before is current again.  How many.

        Raises:
            InvalidParamsError: Nothing waits in such a stage, or the vault is out of the key's scope.
            ConflictError: It was promoted.
        """
        stage = self._stage(caller, vault, name)
        if stage.promoted:
            message = f"stage {name} was promoted: `ragdrop rollback` takes documents back"
            raise ConflictError(message, field="stage", value=name, allowed=None)
        for key in stage.waiting:
            self._remove_waiting(key, name)
        self._queue.send_all([key.s3_key for key in stage.waiting])
        return len(stage.waiting)

    def _remove_waiting(self, key: DocumentKey, name: str) -> None:
        """Remove the versions on top of a document that wait, one that another replaced before too."""
        head = self._registry.head(key)
        if head is None or (head.status, head.stage) != (Status.STAGED, name):
            return
        for _ in range(MAX_VERSIONS):
            current = self._documents.head(key.s3_key)
            if current is None or stage_of(current, head, admission=name == WAITING) != name:
                return
            self._documents.remove_version(key.s3_key, current.version_id)

    def check(self, caller: Caller, vault: str, name: str, deadline: Deadline) -> tuple[GoldenResult, ...]:
        """The vault's golden questions, each asked now and with the stage.

        Raises:
            InvalidParamsError: The vault is out of the key's scope.
            DependencyError: A question could not be asked: what cannot be measured is neither passed nor failed.
        """
        return self._shown(self._checked(caller, vault, name, deadline), caller, vault)

    def _shown(self, checks: Sequence[GoldenResult], caller: Caller, vault: str) -> tuple[GoldenResult, ...]:
        return shown_golden(checks, caller, self._directory.tenant(caller.tenant), vault, self._permissions)

    def _checked(self, caller: Caller, vault: str, name: str, deadline: Deadline) -> tuple[GoldenResult, ...]:
        """The same, whatever the caller may read: a gate measures the vault, not who asks."""
        check_visible(caller, vault)
        whole = _whole(caller, vault)

        def asked(golden: GoldenQuestion) -> GoldenResult:
            live, staged = (self._ask(golden, whole, vault, deadline, stage=stage) for stage in (None, name))
            return GoldenResult(golden.question, golden.expected, live, staged)

        return in_parallel(asked, golden_questions(self._settings(caller, vault)))

    def _staged(self, heads: Iterable[Head], caller: Caller) -> Iterator[Head]:
        """The *heads* of documents that wait, with who may read what waits; a head without a live revision says it."""
        for head in heads:
            asked = not caller.reads_all and head.live_revision is not None
            detail = self._registry.detail(head.key, head.revision) if asked else None
            yield head if detail is None else replace(head, access=detail.facts.access, live_tag=head.tag)

    def _admitted(self, caller: Caller, vault: str, name: str, deadline: Deadline) -> tuple[GoldenResult, ...]:
        checks = self._checked(caller, vault, name, deadline)
        gate = float(self._settings(caller, vault).get("golden_gate", GATE))
        failed = [each for each in checks if not each.staged]
        if checks and (len(checks) - len(failed)) / len(checks) < gate:
            shown = self._shown(failed, caller, vault)
            details = [{"question": each.question, "expected": each.expected, "live": each.live} for each in shown]
            message = (
                f"{len(failed)} of {len(checks)} golden questions of vault {vault} are not answered with stage {name}: "
                + "; ".join(each.question[:80] for each in shown[:5])
            )
            raise ConflictError(message, field="stage", value=name, allowed=None, failed=details)
        return self._shown(checks, caller, vault)

    def _settings(self, caller: Caller, vault: str) -> Mapping[str, Any]:
        tenant = self._directory.tenant(caller.tenant, fresh=True)
        if tenant is None:
            raise ProjectNotActivatedError("the project of this API key is not active")
        return tenant.settings_of(vault)

    def _stage(self, caller: Caller, vault: str, name: str) -> StageOfVault:
        found = next((stage for stage in self.of(caller, vault) if stage.name == name), None)
        if found is None:
            message = f"nothing waits in stage {name[:80]!r} of vault {vault}"
            raise InvalidParamsError(message, field="stage", value=name[:80], allowed=None)
        return found

    def _heads(self, tenant: str, vault: str, status: Status) -> Iterator[Head]:
        """The heads of one status, each read again: the listing may be behind."""
        for listed in head_pages(self._registry, tenant, vault=vault, status=status, size=PAGE):
            keys = [head.key for head in listed]
            now = self._registry.heads(keys, Deadline.after(TIMEOUT_S)) if keys else Heads({})
            if now.unread:
                raise DatabaseError(f"{len(now.unread)} documents could not be read", service="registry")
            heads = (now.found[key] for key in keys if key in now.found)
            yield from (head for head in heads if head.status is status)
