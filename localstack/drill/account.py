"""What happened in a round of the drill, in order of time: what to read where it was not as expected."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from localstack.drill.asking import DrillReply
from localstack.drill.openings import BreakerLine
from localstack.drill.round import Seen


def account(
    seen: Seen, told: Iterable[BreakerLine], arrivals: Mapping[str, Sequence[float]], begun_s: float
) -> list[str]:
    """Replies, what logs *told* of breakers, and when each failed dependency was reached; seconds after *begun_s*."""
    replies = {
        "search": (*seen.first, seen.then),
        "question": (*seen.asks, seen.ask),
        "after the fault": seen.unwell,
    }
    events = [(reply.sent_at_s, f"{kind}: {_reply(reply)}") for kind, found in replies.items() for reply in found]
    events += [(line.at_s, f"log: {' '.join(filter(None, (line.message, line.dependency)))}") for line in told]
    events += [(at_s, f"{name}: reached") for name, times in arrivals.items() for at_s in times if at_s >= begun_s]
    return [f"  {at_s - begun_s:6.2f} s  {what}" for at_s, what in sorted(events)]


def _reply(reply: DrillReply) -> str:
    """Status, code, level and flags of a reply, and how long it took.

    >>> _reply(DrillReply(503, 0.25, {"fallback_level": 3, "error": {"code": "INDEX_UNAVAILABLE"}}, retry_after=True))
    '503 INDEX_UNAVAILABLE level 3, Retry-After, took 0.25 s'
    """
    head = " ".join(filter(None, (str(reply.status), reply.code, f"level {reply.level}" if reply.level else "")))
    flags = {
        "breaker open": reply.breaker,
        f"degraded: {reply.body.get('degraded')}": bool(reply.body.get("degraded")),
        "Retry-After": reply.retry_after,
    }
    return ", ".join([head, *(flag for flag, on in flags.items() if on), f"took {reply.taken_s:.2f} s"])
