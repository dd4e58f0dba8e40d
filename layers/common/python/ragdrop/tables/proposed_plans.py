"""Read a plan that a model proposes: its names must be the table's, and it must use what the question fixes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Any, get_args

from ragdrop.tables.asked import Asked
from ragdrop.tables.match_table import fixed_conditions
from ragdrop.tables.plans import Operation, Part, Plan, RowFilter, days_between
from ragdrop.tables.table_words import NUMBERS
from ragdrop.tables.typed import TypedColumn, TypedTable

MAX_CONDITIONS = 8
MAX_SHOWN = 25  # distinct texts of a column that a model is shown
_FOLDED = frozenset({"sum", "mean", "median", "min", "max"})


class InvalidPlanError(ValueError):
    """A proposal that is no plan over its table, or leaves out what the question says."""


def column_lines(table: TypedTable) -> list[str]:
    r"""What a model is shown of the columns: name, kind, unit and texts, one a line.

    >>> from ragdrop.tables.text_tables import tables_in_text
    >>> column_lines(tables_in_text("item;EUR\ndog;7,50\ncat;8,00\n", "costs.csv")[0])
    ['"item": text, values ["dog", "cat"]', '"EUR": amount in EUR']
    """
    lines = []
    for column in table.columns:
        unit = f" in {column.unit}" if column.unit and column.kind != "text" else ""
        texts = [text[:60] for text in column.texts[:MAX_SHOWN]] if column.kind == "text" else []
        more = ", and more" if len(column.texts) > MAX_SHOWN else ""
        values = f", values {json.dumps(texts, ensure_ascii=False)}{more}" if texts else ""
        lines.append(f"{json.dumps(column.name, ensure_ascii=False)}: {column.kind}{unit}{values}")
    return lines


def read_proposed_plan(reply: str, tables: Sequence[TypedTable], asked: Asked) -> tuple[TypedTable, Plan]:
    r"""The plan of a model's *reply*, and its table.

    Raises InvalidPlanError, RefusedPlanError: it is none, has names that the table has not, or leaves something out.

    >>> from ragdrop.tables.asked import read_question
    >>> from ragdrop.tables.text_tables import tables_in_text
    >>> tables = tables_in_text("item;EUR\ndog;7,50\ncat;8,00\n", "costs.csv")
    >>> asked = read_question("How much was the puppy?", date(2026, 1, 31))
    >>> said = '{"table": 1, "operation": "sum", "column": "EUR", "where": [{"column": "item", "is": ["dog"]}], %s}'
    >>> table, plan = read_proposed_plan(said % '"words": {"puppy": "dog"}', tables, asked)
    >>> plan.expression(table)
    'sum(EUR) where item is "dog"'
    >>> read_proposed_plan(said % '"words": {}', tables, asked)
    Traceback (most recent call last):
    ragdrop.tables.proposed_plans.InvalidPlanError: a word of the question has no place
    """
    found = re.search(r"\{.*\}", reply, re.DOTALL)
    try:
        said: dict[str, Any] = json.loads(found[0]) if found else {}
    except ValueError as exc:
        raise InvalidPlanError("no JSON") from exc
    number = said.get("table")
    if not isinstance(number, int) or not 1 <= number <= len(tables):
        raise InvalidPlanError("no table")
    table = tables[number - 1]
    plan = _plan(said, table)
    _require(plan, said, table, asked)
    return table, plan


def _plan(said: Mapping[str, Any], table: TypedTable) -> Plan:
    operation: Operation = said.get("operation", "")
    if operation not in get_args(Operation):
        raise InvalidPlanError("no operation")
    column, group, order = (_column(said.get(name), table) for name in ("column", "group", "order"))
    first = said.get("first")
    by: Part = said.get("by") or ""
    if column is None and operation != "count":
        raise InvalidPlanError("no column")
    if operation in _FOLDED and column is not None and table.columns[column].kind not in NUMBERS | {"date"}:
        raise InvalidPlanError("a column that cannot be folded")
    if by not in get_args(Part) or (by and (group is None or table.columns[group].kind != "date")):
        raise InvalidPlanError("no part of a date")
    if first is not None and not (isinstance(first, int) and 0 < first <= 100):
        raise InvalidPlanError("no number of rows")
    minus = _conditions(said["minus"], table) if said.get("minus") else None
    return Plan(
        operation,
        _conditions(said.get("where") or [], table),
        None if operation == "count" else column,
        group=group,
        by=by,
        order=order if operation == "list" else None,
        ascending=said.get("ascending") is True,
        first=first,
        minus=minus,
    )


def _column(name: object, table: TypedTable) -> int | None:
    if name is None or name == "":
        return None
    found = [at for at, column in enumerate(table.columns) if column.name == name]
    if len(found) != 1:
        raise InvalidPlanError("a column that is not there")
    return found[0]


def _conditions(said: object, table: TypedTable) -> tuple[RowFilter, ...]:
    if not isinstance(said, list) or len(said) > MAX_CONDITIONS or not all(isinstance(each, dict) for each in said):
        raise InvalidPlanError("no conditions")
    return tuple(_condition(each, table) for each in said)


def _condition(said: Mapping[str, Any], table: TypedTable) -> RowFilter:
    at = _column(said.get("column"), table)
    if at is None:
        raise InvalidPlanError("a condition without a column")
    column, negated = table.columns[at], said.get("not") is True
    verb = "is not" if negated else "is"
    if said.get("is") is not None:
        values = said["is"] if isinstance(said["is"], list) else [said["is"]]
        keys = frozenset(key for value in values for key in _keys(value, column))
        shown = " or ".join(json.dumps(str(value), ensure_ascii=False) for value in values[:3])
        return RowFilter(at, f"{column.name} {verb} {shown}", keys, negated=negated)
    ends = {name: said[name] for name in ("from", "above", "to", "below") if said.get(name) is not None}
    if not ends:
        raise InvalidPlanError("a condition without a value")
    low = max((_end(ends[name], column, name)[0] for name in ("from", "above") if name in ends), default=None)
    high = min((_end(ends[name], column, name)[1] for name in ("to", "below") if name in ends), default=None)
    shown = " ".join(f"{name} {value}" for name, value in ends.items())
    return RowFilter(at, f"{column.name} {verb} {shown}", None, low, high, negated=negated)


def _keys(value: object, column: TypedColumn) -> list[int]:
    """The keys of a cell's value; raises InvalidPlanError: no cell has it."""
    if value == "":
        return [column.missing]
    if column.kind == "text":
        found = [code for code, text in enumerate(column.texts) if text.casefold() == str(value).casefold()]
    elif column.kind == "boolean":
        found = [int(value)] if isinstance(value, bool) else []
    else:
        low, high = _end(value, column, "is")
        found = [key for key in set(column.keys) if low <= key <= high and key != column.missing]
    if not found:
        raise InvalidPlanError("a value that is not there")
    return found


def _end(value: object, column: TypedColumn, name: str) -> tuple[int, int]:
    """The lowest and highest key of an end of a condition."""
    try:
        if column.kind == "date":
            day = date.fromisoformat(str(value))
            first, last = days_between(day, day)
            return (last + 1, last) if name == "above" else (first, first - 1) if name == "below" else (first, last)
        if column.kind not in NUMBERS or column.unit == "mixed" or isinstance(value, bool):
            raise InvalidPlanError("a bound of a column without numbers")
        scaled = Decimal(str(value)).scaleb(column.scale)
        low, high = (int(scaled.to_integral_value(f"ROUND_{way}")) for way in ("CEILING", "FLOOR"))
    except (ValueError, InvalidOperation, OverflowError) as exc:
        raise InvalidPlanError("a bound that is no number or date") from exc
    exact = low == high
    return low + (name == "above" and exact), high - (name == "below" and exact)


def _require(plan: Plan, said: Mapping[str, Any], table: TypedTable, asked: Asked) -> None:
    """Refuse a plan that leaves out a period, a bound, a fold or a word of the question."""
    conditions, unknown = fixed_conditions(asked, table)
    own = {(each.column, each.keys, each.low, each.high) for each in (*plan.filters, *(plan.minus or ()))}
    for options in conditions:
        if not any((each.column, each.keys, each.low, each.high) in own for each in options):
            raise InvalidPlanError("a period or bound of the question is left out")
    if (asked.fold in {"mean", "median"} and plan.operation != asked.fold) or asked.first not in {None, plan.first}:
        raise InvalidPlanError("another fold than asked for")
    used = {plan.column, plan.group, plan.order, *(each.column for each in (*plan.filters, *(plan.minus or ())))}
    names = {table.columns[at].name.casefold() for at in used if at is not None}
    names |= {
        str(value).casefold()
        for each in (*(said.get("where") or ()), *(said.get("minus") or ()))
        for value in (each["is"] if isinstance(each.get("is"), list) else [each.get("is")])
    }
    meant = said.get("words")
    given = meant.items() if isinstance(meant, dict) else ()
    placed = {word.casefold() for word, name in given if str(name).casefold() in names}
    if not set(unknown) <= {part for word in placed for part in (word, *word.split())}:
        raise InvalidPlanError("a word of the question has no place")
