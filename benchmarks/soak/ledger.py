"""What became of each document of a soak, and which of its states an answer may show: pure bookkeeping, thread-safe.

An event (a text put, or the document deleted) has begun when it was sent, and is settled when the service said so, or
when an answer showed it.  An answer may show any state whose event had begun before the answer ended, unless a later
event was settled before the question was sent.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, field
from threading import Lock

APPEARS_WITHIN_S = 5.0  # a kept answer without a new document is served until the tenant's generation is read again
ABSENT = 0  # the number of the state without text: before the first put, and after a deletion


@dataclass
class Event:
    """One change of a document: the *number* of its text, or ABSENT; seconds on one monotonic clock."""

    number: int
    begun_s: float
    settled_s: float = math.inf


@dataclass
class Ledger:
    """All documents by number, each with its events in order."""

    _events: dict[int, list[Event]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def begin(self, document: int, number: int, at_s: float) -> Event:
        """A change is about to be sent."""
        event = Event(number, at_s)
        with self._lock:
            self._events.setdefault(document, [Event(ABSENT, -math.inf, -math.inf)]).append(event)
        return event

    def settle(self, event: Event, at_s: float) -> None:
        """The service says, or showed, that *event* is what holds now."""
        with self._lock:
            event.settled_s = min(event.settled_s, at_s)

    def last(self, document: int) -> int:
        """The number of the last text that was sent, or ABSENT."""
        with self._lock:
            events = self._events.get(document)
            return events[-1].number if events else ABSENT

    def judge(self, document: int, shown: Collection[int], sent_s: float, ended_s: float) -> str:
        """What is wrong with an answer that shows texts *shown* of a document; empty where nothing is.

        An answer that shows a text settles it, as whoever asks from now on must not be told an older one.

        >>> ledger = Ledger()
        >>> for number, at_s in ((1, 10.0), (2, 20.0)):
        ...     ledger.settle(ledger.begin(7, number, at_s), at_s + 2)
        >>> [ledger.judge(7, shown, 30.0, 31.0) for shown in ({2}, {1}, {1, 2}, set())]
        ['', 'stale', 'twice', 'vanished']
        >>> [ledger.judge(7, shown, 21.0, 31.0) for shown in ({2}, {1})]
        ['', '']
        """
        with self._lock:
            events = self._events.get(document, [])
            allowed = _allowed(events, sent_s, ended_s)
            if len(shown) > 1:
                return "twice"
            if not shown:
                allowed = _allowed(events, sent_s - APPEARS_WITHIN_S, ended_s)
                return "" if ABSENT in allowed or not events else "vanished"
            [number] = shown
            if number not in allowed:
                return "stale"
            for event in events:
                if event.number == number:
                    event.settled_s = min(event.settled_s, ended_s)
            return ""


def _allowed(events: list[Event], sent_s: float, ended_s: float) -> set[int]:
    settled = max((at for at, event in enumerate(events) if event.settled_s <= sent_s), default=0)
    return {event.number for event in events[settled:] if event.begun_s <= ended_s}
