"""The closed language of plans over one table, and their results."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from decimal import Decimal
from typing import Literal

from ragdrop.tables.cell_values import DAY_S
from ragdrop.tables.typed import TypedColumn, TypedTable

Operation = Literal["count", "distinct", "sum", "mean", "median", "min", "max", "share", "list"]
Part = Literal["", "day", "month", "year", "weekday"]
Refusal = Literal[
    "no_table", "no_column", "no_value", "no_period", "unit", "ambiguous", "tie", "unread", "not_a_table_question"
]
"""Why a question is not answered; `unread`: a cell that is needed is an error, or of another kind than its column."""


_MEASURED = frozenset({"number", "amount", "duration"})
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


class RefusedPlanError(ValueError):
    """A plan has no result; `reason` says why."""

    def __init__(self, reason: Refusal) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class RowFilter:
    """Keeps rows whose key in a column is one of `keys`, or from `low` to `high`, both included; or all others.

    `said` is the condition as an expression shows it.  Of several columns, `or_column` may hold the key as well.
    """

    column: int
    said: str
    keys: frozenset[int] | None = None
    low: int | None = None
    high: int | None = None
    negated: bool = False

    def admit(self, table: TypedTable, rows: Sequence[int]) -> list[int]:
        """Those of *rows* that it keeps.  Raises RefusedPlanError: one of them cannot be read."""
        column = table.columns[self.column]
        keys = column.keys
        if column.unread and not column.unread.isdisjoint(rows):
            raise RefusedPlanError("unread")
        pairs = enumerate(keys) if isinstance(rows, range) else zip(rows, map(keys.__getitem__, rows), strict=True)
        if self.keys is not None:
            required = self.keys
            if self.negated:
                return [row for row, key in pairs if key not in required]
            if len(required) == 1:
                (only,) = required
                return [row for row, key in pairs if key == only]
            return [row for row, key in pairs if key in required]
        low = column.missing + 1 if self.low is None else max(self.low, column.missing + 1)
        high = -column.missing if self.high is None else self.high
        return [row for row, key in pairs if (low <= key <= high) is not self.negated]


@dataclass(frozen=True, slots=True)
class Plan:
    """What to compute: filter, then group, then fold `column`, then order, then take the `first`.

    Attributes:
        operation: How `column` is folded; `list` shows the cells of `column`, `count` needs none.
        filters: All of them hold.
        group, by: The column to group by, and of dates by which part.
        order: The column that a list is ordered by, its largest first unless `ascending`; groups are ordered by result.
        minus, minus_column: With them instead, the same is computed again; the result is how far both are apart, or
            of a `share` how many percent of it the first is.
    """

    operation: Operation
    filters: tuple[RowFilter, ...] = ()
    column: int | None = None
    group: int | None = None
    by: Part = ""
    order: int | None = None
    ascending: bool = False
    first: int | None = None
    minus: tuple[RowFilter, ...] | None = None
    minus_column: int | None = None

    def other(self) -> Plan:
        """What is taken away."""
        column = self.column if self.minus_column is None else self.minus_column
        return replace(self, column=column, filters=self.minus or (), minus=None, minus_column=None)

    def expression(self, table: TypedTable) -> str:
        """The plan for people, such as `sum(amount) where item = "dog"`."""
        names = [column.name for column in table.columns]
        folded = "rows" if self.column is None else names[self.column]
        said = f"{self.operation}({folded})"
        said += "".join(
            f" {word} {each.said}" for word, each in zip(["where", *["and"] * 20], self.filters, strict=False)
        )
        if self.minus is not None:
            other = self.other().expression(table)
            return f"{said} of {other}" if self.operation == "share" else f"|{said} - {other}|"
        if self.group is not None:
            said += f" group by {names[self.group]}{f' ({self.by})' if self.by else ''}"
        if self.order is not None or (self.group is not None and self.first):
            by = names[self.order] if self.order is not None else self.operation
            said += f" order by {by}{'' if self.ascending else ' descending'}"
        return said + (f" first {self.first}" if self.first else "")


@dataclass(frozen=True, slots=True)
class PlanResult:
    """What a plan gave: a number with its unit, or texts; the rows used, and the columns whose cells were read."""

    number: Decimal | None = None
    unit: str = ""
    texts: tuple[str, ...] = ()
    rows: Sequence[int] = ()
    columns: tuple[int, ...] = ()
    day: date | None = None
    groups: tuple[tuple[str, Decimal], ...] = field(default=())


def run_plan(plan: Plan, table: TypedTable) -> PlanResult:
    """The result of *plan* over *table*.

    Raises RefusedPlanError: a cell that it needs cannot be read, units differ, or there is nothing to fold.
    """
    rows: Sequence[int] = table.rows
    for each in plan.filters:
        rows = each.admit(table, rows)
    if plan.operation == "share":
        return _share(plan, table, rows)
    if plan.minus is not None:
        mine = _folded(replace(plan, minus=None), table, rows)
        its = run_plan(plan.other(), table)
        if mine.number is None or its.number is None or mine.unit != its.unit:
            raise RefusedPlanError("unit")
        columns = tuple(dict.fromkeys((*mine.columns, *its.columns)))
        return replace(mine, number=abs(mine.number - its.number), rows=[*mine.rows, *its.rows], columns=columns)
    if plan.group is not None:
        return _grouped(plan, table, rows)
    return _listed(plan, table, rows) if plan.operation == "list" else _folded(plan, table, rows)


def _share(plan: Plan, table: TypedTable, rows: Sequence[int]) -> PlanResult:
    """How many percent of the rows, or of the sum of a column, the rows of the filters have."""
    fold: Operation = "count" if plan.column is None else "sum"
    part = _folded(replace(plan, operation=fold), table, rows)
    whole = run_plan(replace(plan.other(), operation=fold), table)
    if not part.number or not whole.number or part.unit != whole.unit:
        raise RefusedPlanError("no_value")
    columns = tuple(dict.fromkeys((*part.columns, *whole.columns)))
    return PlanResult(100 * part.number / whole.number, "%", rows=whole.rows, columns=columns)


def _folded(plan: Plan, table: TypedTable, rows: Sequence[int]) -> PlanResult:
    read = tuple(dict.fromkeys(each.column for each in plan.filters))
    if plan.operation == "count" or plan.column is None:
        return PlanResult(Decimal(len(rows)), "", rows=rows, columns=read)
    column = table.columns[plan.column]
    keys, missing = column.keys, column.missing
    if column.unread and not column.unread.isdisjoint(rows):
        raise RefusedPlanError("unread")
    if missing in keys:
        rows = [row for row in rows if keys[row] != missing]
    if plan.operation == "distinct":
        return PlanResult(Decimal(len({keys[row] for row in rows})), "", rows=rows, columns=(plan.column,))
    if (
        not rows
        or column.kind in {"text", "boolean"}
        or (column.kind == "date" and plan.operation not in {"min", "max"})
    ):
        raise RefusedPlanError("no_value")
    unit = unit_of(column, rows)
    if plan.operation in {"min", "max"}:
        best = (min if plan.operation == "min" else max)(keys[row] for row in rows)
        rows = [row for row in rows if keys[row] == best]
        if column.kind == "date":
            return PlanResult(rows=rows, columns=(plan.column,), day=date.fromordinal(best // DAY_S + 1))
        return PlanResult(Decimal(best).scaleb(-column.scale), unit, rows=rows, columns=(plan.column,))
    number = _fold_keys(plan.operation, column, list(map(keys.__getitem__, rows)))
    return PlanResult(number, unit, rows=rows, columns=(plan.column,))


def unit_of(column: TypedColumn, rows: Sequence[int]) -> str:
    """The unit of these rows of a column; raises RefusedPlanError where they have several."""
    if column.unit != "mixed":
        return "s" if column.kind == "duration" else column.unit
    found = {column.units[row] for row in rows}
    if len(found) > 1:
        raise RefusedPlanError("unit")
    return found.pop() if found else ""


def _grouped(plan: Plan, table: TypedTable, rows: Sequence[int]) -> PlanResult:
    assert plan.group is not None  # noqa: S101 - its caller looked
    column = table.columns[plan.group]
    if column.unread and not column.unread.isdisjoint(rows):
        raise RefusedPlanError("unread")
    found = [(key, number) for key, number in _totals_of(plan, table, rows).items() if number is not None]
    if plan.first is not None:
        found.sort(key=lambda each: each[1], reverse=not plan.ascending)
        if 0 < plan.first < len(found) and found[plan.first - 1][1] == found[plan.first][1]:
            raise RefusedPlanError("tie")
        found = found[: plan.first]
    elif plan.by:
        found.sort(key=lambda each: WEEKDAYS.index(each[0]) if plan.by == "weekday" else str(each[0]))
    if not found:
        raise RefusedPlanError("no_value")
    unit = "" if plan.column is None or plan.operation == "count" else unit_of(table.columns[plan.column], rows)
    chosen = {key for key, _ in found}
    keys = column.keys
    required = {key for key, part in _parts(column, plan.by).items() if part in chosen}
    used = (
        rows
        if len(required) == column.distinct and column.missing not in keys
        else RowFilter(plan.group, "", frozenset(required)).admit(table, rows)
    )
    read = tuple(each for each in (plan.group, plan.column) if each is not None)
    numbers = tuple((_group_name(column, key), number) for key, number in found)
    only = numbers[0][1] if len(numbers) == 1 else None
    return PlanResult(only, unit, tuple(name for name, _ in numbers), used, read, groups=numbers)


def _totals_of(plan: Plan, table: TypedTable, rows: Sequence[int]) -> dict[int | str, Decimal | None]:
    """The result of each group, by its key."""
    assert plan.group is not None  # noqa: S101 - its caller looked
    keys, missing = table.columns[plan.group].keys, table.columns[plan.group].missing
    is_whole = isinstance(rows, range)
    grouped = keys if is_whole else list(map(keys.__getitem__, rows))
    if plan.by:
        grouped = list(map({missing: missing, **_parts(table.columns[plan.group], plan.by)}.__getitem__, grouped))
    if plan.operation == "count" or plan.column is None:
        counted = Counter(grouped)
        counted.pop(missing, None)
        return {key: Decimal(count) for key, count in counted.items()}
    column = table.columns[plan.column]
    if column.unread and not column.unread.isdisjoint(rows):
        raise RefusedPlanError("unread")
    values = column.keys if is_whole else list(map(column.keys.__getitem__, rows))
    if plan.operation == "sum" and column.missing not in values:  # three times as fast as by lists
        sums: dict[int | str, int] = defaultdict(int)
        for key, value in zip(grouped, values, strict=True):
            sums[key] += value
        sums.pop(missing, None)
        return {key: Decimal(number).scaleb(-column.scale) for key, number in sums.items()}
    members: dict[int | str, list[int]] = defaultdict(list)
    for key, value in zip(grouped, values, strict=True):
        members[key].append(value)
    members.pop(missing, None)
    return {key: _fold_keys(plan.operation, column, each) for key, each in members.items()}


def _fold_keys(operation: str, column: TypedColumn, keys: list[int]) -> Decimal | None:
    """The keys of a group as one number; None where all its cells are empty."""
    present = [key for key in keys if key != column.missing]
    if not present:
        return None
    if operation == "median":
        present.sort()
        middle = Decimal(present[(len(present) - 1) // 2] + present[len(present) // 2])
        return (middle / 2).scaleb(-column.scale)
    whole = {"sum": sum, "mean": sum, "min": min, "max": max}.get(operation, len)(present)  # type: ignore[operator]
    number = Decimal(whole).scaleb(-column.scale)
    return number / len(present) if operation == "mean" else number


def _parts(column: TypedColumn, by: str) -> dict[int, int | str]:
    """What each key of a column is grouped by: itself, or a part of its date."""
    present = set(column.keys) - {column.missing}
    return {key: _part(key, by) if by else key for key in present}


def _part(key: int, by: str) -> str:
    day = date.fromordinal(key // DAY_S + 1)
    return WEEKDAYS[day.weekday()] if by == "weekday" else day.isoformat()[: {"year": 4, "month": 7}.get(by)]


def _group_name(column: TypedColumn, key: int | str) -> str:
    if isinstance(key, str):
        return key
    return column.texts[key] if column.kind == "text" else shown_key(key, column)


def _listed(plan: Plan, table: TypedTable, rows: Sequence[int]) -> PlanResult:
    read = [each for each in (plan.column, plan.order) if each is not None]
    if plan.order is not None:
        column = table.columns[plan.order]
        keys = column.keys
        if column.unread and not column.unread.isdisjoint(rows):
            raise RefusedPlanError("unread")
        rows = [row for row in rows if keys[row] != column.missing] if column.missing in keys else rows
        unit_of(column, rows)
        rows = sorted(_foremost(plan, keys, rows), key=keys.__getitem__)
        rows = rows if plan.ascending else rows[::-1]
        if plan.first is not None and plan.first < len(rows):
            last = keys[rows[plan.first - 1]]
            more = [row for row in rows[plan.first :] if keys[row] == last]
            if more and plan.first > 1:
                raise RefusedPlanError("tie")
            rows = [*rows[: plan.first], *more]
        if not plan.ascending:
            rows = sorted(rows, key=lambda row: (-keys[row], row))
    if not rows:
        raise RefusedPlanError("no_value")
    if plan.column is None:
        raise RefusedPlanError("no_column")
    shown = (shown_cell(table.columns[plan.column], row) for row in rows)
    texts = tuple(dict.fromkeys(text for text in shown if text))
    number, unit = None, ""
    if plan.order is not None and len(texts) == 1 and table.columns[plan.order].kind in _MEASURED:
        key = table.columns[plan.order].keys[rows[0]]
        number, unit = Decimal(key).scaleb(-table.columns[plan.order].scale), unit_of(table.columns[plan.order], rows)
    if len(texts) == 1 and table.columns[plan.column].kind in {"number", "amount", "duration"}:
        value = table.columns[plan.column].value(rows[0])
        number = value if isinstance(value, Decimal) else None
        unit = unit_of(table.columns[plan.column], rows)
    if not texts:
        raise RefusedPlanError("unread" if table.columns[plan.column].unread else "no_value")
    return PlanResult(number, unit, texts, rows, tuple(read))


def _foremost(plan: Plan, keys: Sequence[int], rows: Sequence[int]) -> Sequence[int]:
    """The rows that the first of a list can be among: of many rows few need to be sorted."""
    if plan.first is None or plan.first >= len(rows):
        return rows
    counted = Counter(keys if isinstance(rows, range) else map(keys.__getitem__, rows))
    taken, last = 0, 0
    for last in sorted(counted, reverse=not plan.ascending):
        taken += counted[last]
        if taken > plan.first:
            break
    if plan.ascending:
        return [row for row in rows if keys[row] <= last]
    return [row for row in rows if keys[row] >= last]


def shown_cell(column: TypedColumn, row: int) -> str:
    """A cell as an answer names it, empty where it is."""
    key = column.keys[row]
    if key == column.missing:
        return ""
    if column.unit == "mixed":
        return shown_number(Decimal(key).scaleb(-column.scale), column.units[row])
    return column.texts[key] if column.kind == "text" else shown_key(key, column)


def shown_key(key: int, column: TypedColumn) -> str:
    """The value of a key in a column that is not of texts."""
    match column.kind:
        case "boolean":
            return "yes" if key else "no"
        case "date":
            day, seconds = divmod(key, DAY_S)
            clock = f" {seconds // 3600:02d}:{seconds // 60 % 60:02d}" if seconds else ""
            return date.fromordinal(day + 1).isoformat() + clock
        case "duration":
            return shown_number(Decimal(key), "s")
        case _:
            return shown_number(Decimal(key).scaleb(-column.scale), column.unit)


def shown_number(number: Decimal, unit: str) -> str:
    """A number with its unit: without a fraction of zeros, of a duration hours and minutes, of money two digits.

    >>> [shown_number(Decimal(value), unit) for value, unit in (("12.5", "EUR"), ("80.0", "km"), ("5400", "s"))]
    ['12.50 EUR', '80 km', '1 h 30 min']
    >>> shown_number(Decimal(10) / 3, ""), shown_number(Decimal("1E+3"), "%")
    ('3.33', '1000 %')
    """
    if unit == "s" and number >= 60:
        seconds = round(number)
        parts = ((seconds // 3600, "h"), (seconds // 60 % 60, "min"), (seconds % 60, "s"))
        return " ".join(f"{count} {name}" for count, name in parts if count)
    digits = max(-int(number.as_tuple().exponent), 0)
    money = len(unit) == 3 and unit.isupper()
    digits = 2 if digits > 6 or (money and 0 < digits < 2) else digits
    text = f"{number:.{digits}f}"
    text = text if money or "." not in text else text.rstrip("0").rstrip(".")
    return f"{text} {unit}".strip()


def days_between(first: date, last: date) -> tuple[int, int]:
    """The keys of a column of dates from *first* to *last*, both included."""
    return (first.toordinal() - 1) * DAY_S, ((last + timedelta(days=1)).toordinal() - 1) * DAY_S - 1
