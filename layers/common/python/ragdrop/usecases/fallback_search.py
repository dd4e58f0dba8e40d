"""Search that says when nothing could be searched, instead of that nothing was found."""

from __future__ import annotations

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.queries import Query
from ragdrop.domain.retrieval import NOTHING_SEARCHED, Retrieval
from ragdrop.domain.tenants import Caller
from ragdrop.errors import CircuitOpenError, DatabaseError, DeadlineError, DependencyError
from ragdrop.usecases.cached_search import Searching
from ragdrop.usecases.timer import Timer

NOTHING_TOUCHED = 4


class FallbackSearch:
    """The fallback chain's end: level 3 where the index or the registry did not answer, 4 where nothing was asked.

    Configuration errors, such as a wrong dimension, are errors: waiting does not mend them.
    """

    def __init__(self, search: Searching) -> None:
        self._search = search

    def __call__(self, query: Query, caller: Caller, deadline: Deadline) -> Retrieval:
        """Find what answers *query*; empty, with the level and the cause, where nothing could be searched.

        Raises:
            DependencyError: The same with `allow_fallback` off, or where trying again cannot help.
            CallerError: The query is wrong.
        """
        try:
            return self._search(query, caller, deadline)
        except (DatabaseError, DeadlineError, CircuitOpenError) as exc:
            if not query.allow_fallback or not exc.retryable:
                raise
            return _nothing_searched(exc)


def _nothing_searched(cause: DependencyError) -> Retrieval:
    is_open = isinstance(cause, CircuitOpenError)
    return Retrieval(
        documents=[],
        total_matches=0,
        total_indexed=None,
        timings_ms=Timer().stages,
        warnings=[f"nothing could be searched: {cause.message}"],
        degraded=True,
        fallback_level=NOTHING_TOUCHED if is_open else NOTHING_SEARCHED,
        circuit_breaker_open=is_open,
        served_by="none",
        cause=cause,
    )
