"""JSON schemas of the tools as clients get them: whole, without references, since not every client follows these."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

_PREFIX = "#/$defs/"


def schema_of(model: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema of *model*: references are replaced by what they name, generated titles are left out.

    >>> class Point(BaseModel):
    ...     x: int
    >>> schema_of(Point)
    {'properties': {'x': {'type': 'integer'}}, 'required': ['x'], 'type': 'object'}
    """
    schema = model.model_json_schema()
    definitions = schema.pop("$defs", {})
    found = _whole(schema, definitions)
    found.pop("description", None)  # the model's docstring; a tool has a description of its own
    return found


def _whole(node: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in node:
        named = definitions[node["$ref"].removeprefix(_PREFIX)]
        node = {**named, **{name: value for name, value in node.items() if name != "$ref"}}
    whole: dict[str, Any] = {}
    for name, value in node.items():
        if name == "properties":
            whole[name] = {field: _whole(part, definitions) for field, part in value.items()}
        elif isinstance(value, dict) and name not in {"default", "examples"}:
            whole[name] = _whole(value, definitions)
        elif isinstance(value, list):
            whole[name] = [_whole(part, definitions) if isinstance(part, dict) else part for part in value]
        elif name != "title":
            whole[name] = value
    return whole
