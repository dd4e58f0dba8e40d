"""Answer a question by a plan over typed tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal

from ragdrop.tables.asked import Asked, read_question
from ragdrop.tables.cell_values import CURRENCIES, unit_name
from ragdrop.tables.match_table import Mismatch, PlanCandidate, match_table
from ragdrop.tables.plans import Plan, PlanResult, Refusal, RefusedPlanError, run_plan, shown_number
from ragdrop.tables.reading_evidence import LEAST, evidence
from ragdrop.tables.table_words import numbers_its_rows
from ragdrop.tables.typed import TypedTable

MAX_CELLS = 1_000  # that an answer names; the range says the rest
MARGIN = 0.9  # by which the table that answers must fit better than those of other documents
_MONEY = re.compile(r"(?:[€$£] ?\d|\d[\d.,]* ?[€$£])")  # beside words, such as `unsold`
MAX_LISTED = 50  # texts of a list that the value holds; `rows` has all


@dataclass(frozen=True, slots=True)
class TableAnswer:
    """What a plan gave, with its proof; where `reason` is not None there is no value, only the closest tables.

    Attributes:
        value: The answer as text, such as `12.50 EUR`, `3` or the names of rows with commas between; empty if refused.
        number: The answer as a number, where it is one (a count, an amount, a distance; a duration in seconds).
        rows: The texts of a list, or of the one row of a largest or smallest value.
        cells: The cells it was computed from, such as `Budget!B2` or, of a CSV, `B2`; row 1 is the first of the file.
        expression: What was computed, such as `sum(amount) where item is "dog"`.
        path: The document of the table.
        range: The cells of the table without its header, such as `Budget!A2:C40`.
        rows_used, rows_total: How many rows were used, of how many (totals rows are not counted).
        reason: Why it was refused; None if answered.
        closest: The paths of the tables that come nearest, where it was refused.
        unknown: How many words of the question the nearest table does not know, where it was refused.
        unit: The unit of `number`, empty if it has none.
        signs: What speaks for and against the plan; see `reading_evidence`.
        table: The table, `used` its rows, and `plan` what was computed, for whoever cites or compares them.
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
    reason: Refusal | None = None
    closest: tuple[str, ...] = ()
    unknown: int = 0
    unit: str = ""
    signs: Mapping[str, float] = field(default_factory=dict, repr=False, compare=False)
    plan: Plan | None = field(default=None, repr=False, compare=False)
    table: TypedTable | None = field(default=None, repr=False, compare=False)
    used: Sequence[int] = field(default=(), repr=False, compare=False)

    @property
    def abstained(self) -> bool:
        """Whether there is no value."""
        return self.reason is not None


def answer_from_tables(
    question: str, tables: Sequence[TypedTable], today: date, *, least: float = LEAST
) -> TableAnswer | None:
    """The answer to *question* out of one of *tables*; None if it asks for nothing that a table can say.

    *today* is what `this month`, `last year` and the like count from; *least* the evidence that an answer needs.
    """
    asked = read_question(question, today)
    if asked is None:
        return None
    found: list[tuple[float, TypedTable, list[PlanCandidate]]] = []
    near: list[tuple[str, Mismatch]] = []
    for table in tables:
        matched = match_table(asked, table)
        if isinstance(matched, list):
            found.append((matched[0].score, table, matched))
        else:
            near.append((table.path, matched))
    if not found:
        return _refused(near)
    found.sort(key=lambda each: -each[0])
    answers: list[TableAnswer] = []
    for score, table, candidates in found:
        if score < found[0][0] - (MARGIN if table.path != found[0][1].path else 0):
            continue
        answers += _answers(asked, table, candidates)
    given = [each for each in answers if not each.abstained]
    if not given:
        return answers[0]
    if evidence(given[0].signs) < least:
        [unknown] = {each[2][0].unknown for each in found if each[1] is given[0].table}
        return TableAnswer(reason="no_value", closest=(given[0].path,), unknown=unknown)
    if any(each.reason not in {None, "no_value"} for each in answers):
        return TableAnswer(reason="ambiguous", closest=tuple(dict.fromkeys(each.path for each in given)))
    same = {(each.value, each.number) for each in given}
    if len(same) == 1:
        return given[0]
    named = {each.rows if each.plan and each.plan.order is not None else None for each in given}
    if len(named) == 1 and None not in named:  # the longest by distance and by time alike
        return replace(given[0], value=", ".join(given[0].rows), number=None, unit="")
    paths = tuple(dict.fromkeys(each.path for each in given))
    return TableAnswer(reason="tie" if len(paths) > 1 else "ambiguous", closest=paths)


def _refused(near: Iterable[tuple[str, Mismatch]]) -> TableAnswer:
    ordered = sorted(near, key=lambda each: each[1].unknown - each[1].score)
    paths = tuple(dict.fromkeys(path for path, each in ordered if each.score > 0))[:3]
    if not ordered:
        return TableAnswer(reason="no_table")
    return TableAnswer(reason=ordered[0][1].reason, closest=paths, unknown=ordered[0][1].unknown)


def _answers(asked: Asked, table: TypedTable, candidates: Sequence[PlanCandidate]) -> list[TableAnswer]:
    said = {"GBP" if word in {"pound", "pounds"} else unit_name(word) for word in asked.words}
    currencies = said & {*CURRENCIES.values()}
    found = []
    for candidate in candidates:
        plan = candidate.plan
        try:
            result = run_plan(plan, table)
            if (
                plan.operation == "list"
                and plan.order is None
                and len(result.texts) > 1
                and _is_one(plan.column, table)
            ):
                raise RefusedPlanError("ambiguous")
            if currencies and result.unit in {*CURRENCIES.values()} - currencies:
                raise RefusedPlanError("unit")  # asked for in euros, paid in pounds
        except RefusedPlanError as exc:
            found.append(TableAnswer(reason=exc.reason, closest=(table.path,), expression=plan.expression(table)))
            continue
        found.append(replace(answer_of_plan(plan, table, result), signs=candidate.signs))
    return found


def _is_one(column: int | None, table: TypedTable) -> bool:
    """Whether a list of this column is one number too many: which of them was meant is open."""
    is_number = column is not None and table.columns[column].kind in {"number", "amount", "duration", "boolean"}
    is_number |= column is not None and bool(_MONEY.search(" ".join(table.columns[column].texts[:5])))
    return is_number and not (column == 0 and numbers_its_rows(table))


def answer_of_plan(plan: Plan, table: TypedTable, result: PlanResult) -> TableAnswer:
    """The answer that *result* of *plan* is, with its proof."""
    rows = result.rows
    cells = tuple(table.cell(row, column) for row in rows[:MAX_CELLS] for column in result.columns)[:MAX_CELLS]
    return TableAnswer(
        value=_value(result),
        number=result.number,
        rows=result.texts,
        cells=cells,
        expression=plan.expression(table),
        path=table.path,
        range=table.range_of(0, table.row_count - 1) if table.row_count else "",
        rows_used=len(rows) if isinstance(rows, range) else len(set(rows)),
        rows_total=len(table.rows),
        unit=result.unit,
        plan=plan,
        table=table,
        used=rows,
    )


def _value(result: PlanResult) -> str:
    if result.day is not None:
        return result.day.isoformat()
    if result.groups:
        return ", ".join(f"{name}: {shown_number(number, result.unit)}" for name, number in result.groups[:MAX_LISTED])
    if result.texts:
        more = len(result.texts) - MAX_LISTED
        if (
            len(result.texts) == 1
            and result.number is not None
            and shown_number(result.number, result.unit) not in result.texts
        ):
            return f"{result.texts[0]}: {shown_number(result.number, result.unit)}"
        return ", ".join(result.texts[:MAX_LISTED]) + (f" and {more} more" if more > 0 else "")
    return shown_number(result.number or Decimal(0), result.unit)
