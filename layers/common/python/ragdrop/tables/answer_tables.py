"""Answer a question by a plan over typed tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from ragdrop.tables.typed import TypedTable


@dataclass(frozen=True, slots=True)
class TableAnswer:
    """What a plan gave, with its proof; where `reason` is not None there is no value, only the closest tables.

    Attributes:
        value: The answer as text, such as `12.50 EUR`, `3` or the names of rows with commas between; empty if refused.
        number: The answer as a number, where it is one (a count, an amount, a distance; a duration in its unit).
        rows: The labels of rows, where the answer is a list (or the one row of a largest or smallest value).
        cells: The cells it was computed from, such as `Budget!B2` or, of a CSV, `B2`; row 1 is the first of the file.
        expression: What was computed, such as `sum(amount) where item = "dog" and date in 2026-08`.
        path: The document of the table.
        range: The cells of the table without its header, such as `Budget!A2:C40`.
        rows_used, rows_total: How many rows were used, of how many (totals rows are not counted).
        reason: Why it was refused: `no_table`, `no_column`, `no_value`, `no_period`, `unit`, `ambiguous`, `tie`,
            `not_a_table_question`; None if answered.
        closest: The paths of the tables that come nearest, where it was refused.
    """

    value: str = ""
    number: Decimal | None = None
    rows: tuple[str, ...] = ()
    cells: tuple[str, ...] = ()
    expression: str = ""
    path: str = ""
    range: str = ""
    rows_used: int = 0
    rows_total: int = 0
    reason: str | None = None
    closest: tuple[str, ...] = ()

    @property
    def abstained(self) -> bool:
        """Whether there is no value."""
        return self.reason is not None


def answer(question: str, tables: Sequence[TypedTable], today: date) -> TableAnswer | None:
    """The answer to *question* out of one of *tables*; None if it asks for nothing that a table can say.

    *today* is what `this month`, `last year` and the like count from.
    """
    raise NotImplementedError
