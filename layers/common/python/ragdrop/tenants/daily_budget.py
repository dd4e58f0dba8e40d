"""Daily budgets of tokens and documents, from the counts of the statistics."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable

from ragdrop.domain.bounded_cache import BoundedCache
from ragdrop.domain.times import rfc3339
from ragdrop.errors import DatabaseError, RateLimitedError
from ragdrop.ports.telemetry import HOUR_S, Counts, HourStore, hour_of, summed
from ragdrop.tenants.directory import TenantDirectory

logger = logging.getLogger(__name__)

DAY_S = 24 * HOUR_S
HELD_S = 10.0  # what was used is read at most so often: environments write their own counts as often
TENANTS_HELD = 1_000
DOCUMENTS = "documents"


class DailyBudget:
    """Refuses what is over a tenant's budget of the day (UTC).

    Other environments' last ten seconds are not in the counts, so a budget may be passed by what those used; where the
    counts cannot be read, nothing is refused.

    Args:
        directory: Tells a tenant's budgets.
        store: Has the counts.
        clock: Seconds since 1970.
    """

    def __init__(self, *, directory: TenantDirectory, store: HourStore, clock: Callable[[], float]) -> None:
        self._directory = directory
        self._store = store
        self._clock = clock
        self._used: BoundedCache[tuple[str, str], Counts] = BoundedCache(size=TENANTS_HELD, ttl_s=HELD_S)

    def check_tokens(self, name: str) -> None:
        """Return if a tenant may use another token today.

        Raises:
            RateLimitedError: It may not; `until` and `retry_after_s` say when the next day begins.
        """
        tenant = self._directory.tenant(name)
        limit = None if tenant is None else tenant.rates.daily_tokens
        if limit is not None:
            used = self._of_today(name)
            self._check("tokens", used.get("prompt_tokens", 0) + used.get("completion_tokens", 0), limit)

    def take_document(self, name: str) -> None:
        """Count a document that is about to be written, if the tenant may write another one today.

        Raises:
            RateLimitedError: It may not.
        """
        tenant = self._directory.tenant(name)
        limit = None if tenant is None else tenant.rates.daily_documents
        if limit is None:
            return
        used = dict(self._of_today(name))
        self._check(DOCUMENTS, used.get(DOCUMENTS, 0), limit)
        now_s = self._clock()
        try:
            self._store.add_counts(name, hour_of(now_s), {DOCUMENTS: 1})
        except DatabaseError as exc:
            logger.warning("a document could not be counted", extra={"service": exc.service})
        used[DOCUMENTS] = used.get(DOCUMENTS, 0) + 1
        self._used.put((name, _day(now_s)), used, now_s=now_s)

    def _of_today(self, name: str) -> Counts:
        now_s = self._clock()
        held = self._used.get((name, _day(now_s)), now_s=now_s)
        if held is not None:
            return held
        try:
            found: Counts = summed(self._store.counts(name, f"{_day(now_s)}T00", hour_of(now_s)).values())
        except DatabaseError as exc:
            logger.warning("a budget could not be checked", extra={"service": exc.service})
            return {}
        self._used.put((name, _day(now_s)), found, now_s=now_s)
        return found

    def _check(self, what: str, used: int, limit: int) -> None:
        if used < limit:
            return
        now_s = self._clock()
        ends_at_s = (now_s // DAY_S + 1) * DAY_S
        until = rfc3339(ends_at_s)
        raise RateLimitedError(
            f"this project has used its {limit} {what} of today; the next day begins at {until}",
            limited=what,
            limit=limit,
            used=used,
            until=until,
            retry_after_s=max(1, math.ceil(ends_at_s - now_s)),
        )


def _day(now_s: float) -> str:
    return hour_of(now_s)[:10]
