"""The ledger of a plan: what is to be done for a tenant's new index, in items that workers finish once each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class WorkRange:
    """An item: `listed` documents behind the vault path `after`, up to and with `until`."""

    number: int
    after: str
    until: str
    listed: int


@dataclass(frozen=True, slots=True)
class WorkCounts:
    """What items came to: documents that the new index has, their chunks, chunks embedded, seconds of workers."""

    documents: int = 0
    chunks: int = 0
    embedded: int = 0
    milliseconds: int = 0


@dataclass(frozen=True, slots=True)
class WorkSummary:
    """How far a plan is: its listing continues behind the vault path `after`; None once each document is in an item."""

    planned: int = 0
    done: int = 0
    listed: int = 0
    after: str | None = ""
    counts: WorkCounts = WorkCounts()
    begun_at_s: float = 0.0
    ended_at_s: float = 0.0

    @property
    def is_done(self) -> bool:
        """Whether every document was listed and every item is done."""
        return self.after is None and self.done == self.planned


class WorkLedger(Protocol):
    """Plans by tenant and the index that they build.  All methods raise DatabaseError.

    A plan is listed once, an item is worked on by one worker at a time, and counted once.
    """

    def begin(self, tenant: str, index: str, now_s: float) -> None:
        """Note a plan without items; nothing where it is there."""

    def summary(self, tenant: str, index: str) -> WorkSummary | None:
        """How far a plan is (strongly consistent); None if there is none."""

    def add(self, tenant: str, index: str, before: WorkSummary, items: Sequence[WorkRange], after: str | None) -> bool:
        """Add up to 25 items and move the listing to *after*; False if another worker moved it since *before*."""

    def claim(
        self, tenant: str, index: str, number: int, worker: str, *, now_s: float, until_s: float
    ) -> WorkRange | None:
        """Take an item until *until_s*; None if it is done, another worker has it, or there is no such item.

        The same worker takes its own again.
        """

    def is_done(self, tenant: str, index: str, number: int) -> bool:
        """Whether an item is done, or is not there."""

    def finish(self, tenant: str, index: str, number: int, worker: str, counts: WorkCounts, now_s: float) -> bool:
        """Mark an item of *worker* as done and add its counts to the plan, both or neither; whether it was."""

    def left(self, tenant: str, index: str) -> Iterator[int]:
        """The numbers of the items that are not done, in order."""

    def forget(self, tenant: str, index: str) -> None:
        """Remove a plan with its items."""
