"""Filters of Bedrock's knowledge bases as fields of a search: a tree of conditions on metadata."""

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NoReturn

from ragdrop.domain.documents import written
from ragdrop.errors import InvalidParamsError

MAX_DEPTH = 5
SOURCE_URI = "x-amz-bedrock-kb-source-uri"
ONE_OF = {
    "vault": "vaults",
    "doc_type": "doc_types",
    "content_type": "content_type",
    "category": "category",
    "session_id": "session_id",
}
"""Metadata of which a document has one value, and the field that filters by it."""
DATES = ("equals", "greaterThan", "greaterThanOrEquals", "lessThan", "lessThanOrEquals")
NO_FILTER = frozenset({"title", "version_id", "promotion_level", "start", "end", "x-amz-bedrock-kb-chunk-id"})
OPERATORS = (*DATES, "notEquals", "in", "notIn", "startsWith", "listContains", "stringContains", "andAll", "orAll")
NOTHING: Mapping[str, Any] = {"attributes": {"x-ragdrop-no-document": ["true"]}}  # what no document states of itself


@dataclass(frozen=True, slots=True)
class MetadataFilter:
    """Translates the filters of one knowledge base.

    Args:
        root: What the addresses of the tenant's objects begin with: `s3://bucket/tenant/`.
        vaults: The vaults that are asked.
    """

    root: str
    vaults: Sequence[str]

    def fields(self, tree: object, depth: int = 1) -> Mapping[str, Any]:
        """The fields of a search request that let the same documents through.

        Raises InvalidParamsError: it is no filter, or no fields say the same.

        >>> of = MetadataFilter("s3://documents/acme/", ["team"])
        >>> of.fields({"andAll": [{"equals": {"key": "category", "value": "pumps"}},
        ...                       {"greaterThan": {"key": "date", "value": "2026-01-31"}}]})
        {'category': ['pumps'], 'date_from': '2026-02-01'}
        """
        if not isinstance(tree, Mapping) or len(tree) != 1 or depth > MAX_DEPTH:
            message = f"filter: a condition has one operator, and at most {MAX_DEPTH} conditions are nested"
            raise InvalidParamsError(message, field="filter", value=None, allowed=list(OPERATORS))
        [(operator, operand)] = tree.items()
        if operator in {"andAll", "orAll"}:
            if not isinstance(operand, list) or len(operand) < 2:
                _refuse(operator, "it takes a list of two or more conditions")
            found = [self.fields(each, depth + 1) for each in operand]
            return reduce(_both if operator == "andAll" else _either, found)
        if operator not in OPERATORS:
            _refuse(str(operator), "there is no such operator")
        if not isinstance(operand, Mapping) or not isinstance(operand.get("key"), str) or "value" not in operand:
            _refuse(operator, "it takes `key` and `value`")
        return self._condition(operator, operand["key"], operand["value"])

    def within(self, fields: Mapping[str, Any], tree: object) -> Mapping[str, Any]:
        """*fields*, and what a filter lets through of them."""
        return _both(fields, self.fields(tree))

    def _condition(self, operator: str, key: str, value: object) -> Mapping[str, Any]:
        values = _texts(operator, value)
        if operator in {"notEquals", "notIn"}:
            return self._unlike(self._condition("in", key, values))
        if key == "date":
            return _dated(operator, values[0])
        if key in {SOURCE_URI, "path"}:
            return self._placed(operator, key, values)
        if key == "tags":
            _expect(operator, key, "listContains")
            return {"tags": values}
        if key in NO_FILTER:
            _refuse(operator, f"ragdrop does not filter by {key!r}")
        _expect(operator, key, "equals", "in")
        if key in ONE_OF:
            return {ONE_OF[key]: values}
        return {"attributes": {key: values}}

    def _unlike(self, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        """What lets through all but what *fields* do."""
        if fields == NOTHING:
            return {}
        if "vaults" not in fields:
            return {"exclude": fields}
        others = [vault for vault in self.vaults if vault not in fields["vaults"]]
        return {"vaults": others} if others else NOTHING

    def _placed(self, operator: str, key: str, values: Sequence[str]) -> Mapping[str, Any]:
        """Folders hold what lies in them, and the one document that they name."""
        _expect(operator, key, "equals", "in", "startsWith")
        if operator == "startsWith" and not values[0].endswith("/"):
            _refuse(operator, f"{key!r} is compared by whole folders: the value ends with a slash")
        if key == "path":
            places = [f"{vault}/{value}" for vault in self.vaults for value in values]
        else:
            places = [value.removeprefix(self.root) for value in values if value.startswith(self.root)]
            if "" in places:
                return {}
        return {"folders": places} if places else NOTHING


def _refuse(operator: str, reason: str) -> NoReturn:
    message = f"filter.{operator[:40]}: {reason}"
    raise InvalidParamsError(message, field="filter", value=operator[:40], allowed=None)


def _expect(operator: str, key: str, *operators: str) -> None:
    if operator not in operators:
        _refuse(operator, f"ragdrop compares {key[:80]!r} by {' and '.join(operators)} alone")


def _texts(operator: str, value: object) -> list[str]:
    """What a condition compares with, as documents' metadata is written."""
    many = value if operator in {"in", "notIn"} and isinstance(value, list) else [value]
    if not many or not all(isinstance(each, str | int | float) for each in many):
        _refuse(operator, "the value is a text, a number or a boolean; of in and notIn a list of them")
    return [written(each) for each in many]


def _dated(operator: str, value: str) -> Mapping[str, Any]:
    """Bounds that are both included; of a day the strict ones are the day before and after."""
    _expect(operator, "date", *DATES)
    step = {"greaterThan": 1, "lessThan": -1}.get(operator, 0)
    try:
        if len(value) <= len("2026-01-31"):
            moved = (datetime.date.fromisoformat(value) + datetime.timedelta(days=step)).isoformat()
        else:
            moved = (datetime.datetime.fromisoformat(value) + datetime.timedelta(microseconds=step)).isoformat()
    except (ValueError, OverflowError):
        _refuse(operator, "`date` is compared with a day (2026-01-31) or a time (2026-01-31T10:00:00Z)")
    if operator == "equals":
        return {"date_from": moved, "date_to": moved}
    return {"date_from" if operator.startswith("greater") else "date_to": moved}


def _both(one: Mapping[str, Any], other: Mapping[str, Any]) -> Mapping[str, Any]:
    """What lets through what both do.

    >>> _both({"category": ["a", "b"]}, {"category": ["b"], "tags": ["x"]})
    {'category': ['b'], 'tags': ['x']}
    """
    found = {**one, **other}
    bounds: dict[str, Callable[[str, str], str]] = {"date_from": max, "date_to": min}
    for field in (name for name in one if name in other and one[name] != other[name]):
        if field in bounds:
            found[field] = bounds[field](one[field], other[field])
        elif field == "attributes":
            shared = {
                name: _shared(one[field][name], other[field][name]) for name in one[field] if name in other[field]
            }
            found[field] = {**one[field], **other[field], **shared}
            if not all(shared.values()):
                return NOTHING
        elif field == "exclude":
            found[field] = _joined(one[field], other[field])
        elif field in {"tags", "folders"}:
            _refuse("andAll", f"ragdrop takes alternatives of {field}, not two of them at once")
        else:
            found[field] = _shared(one[field], other[field])
            if not found[field]:
                return NOTHING
    return found


def _either(one: Mapping[str, Any], other: Mapping[str, Any]) -> Mapping[str, Any]:
    """What lets through what one of both does.

    >>> _either({"tags": ["x"]}, {"tags": ["y"]})
    {'tags': ['x', 'y']}
    """
    if one == other or other == NOTHING:
        return one
    if one == NOTHING:
        return other
    keys = (
        one["attributes"].keys() | other["attributes"].keys() if one.keys() == other.keys() == {"attributes"} else one
    )
    if (
        one.keys() != other.keys()
        or len(one) != 1
        or len(keys) != 1
        or one.keys() & {"date_from", "date_to", "exclude"}
    ):
        _refuse("orAll", "ragdrop takes alternatives of one key, by equals, in, startsWith and listContains")
    return _joined(one, other)


def _joined(one: Mapping[str, Any], other: Mapping[str, Any]) -> Mapping[str, Any]:
    """The values of both, by their names.

    >>> _joined({"attributes": {"a": ["x"]}}, {"attributes": {"a": ["y"]}, "tags": ["z"]})
    {'attributes': {'a': ['x', 'y']}, 'tags': ['z']}
    """
    found = {**one, **other}
    for name in one.keys() & other.keys():
        of, more = one[name], other[name]
        found[name] = _joined(of, more) if isinstance(of, Mapping) else list(dict.fromkeys([*of, *more]))
    return found


def _shared(values: list[str], others: list[str]) -> list[str]:
    return [value for value in values if value in others]
