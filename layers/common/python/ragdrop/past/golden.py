"""Ask golden questions: is what they expect among the first documents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.golden import GoldenQuestion
from ragdrop.domain.queries import Query
from ragdrop.domain.retrieval import Retrieval
from ragdrop.domain.tenants import Caller
from ragdrop.errors import DatabaseError, InvalidParamsError
from ragdrop.query.cache import Searching

TOP = 3  # documents among which a golden question wants what it expects
AT_ONCE = 4  # golden questions asked beside each other
Result = TypeVar("Result")


class AskGolden:
    """Asks one golden question by the whole search; it counts no use of a document and reads no remembered answer."""

    def __init__(self, search: Searching) -> None:
        self._search = search

    def __call__(
        self, golden: GoldenQuestion, caller: Caller, vault: str, deadline: Deadline, *, stage: str | None = None
    ) -> bool:
        """Whether it is answered now, or with a stage.

        Raises:
            DependencyError: Less than the whole search could be done, so that nothing can be said.
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
