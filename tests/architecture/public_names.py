"""Public names of ragdrop, one a line: routes and schemas, commands, tools of agents, the Python client.

`python -m tests.architecture.public_names` prints them.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from typing import Any

from typer.main import get_command

from ragdrop.api.apis import query_api
from ragdrop.api.mcp.tools import TOOLS
from ragdrop.client import RagdropClient, events, replies
from ragdrop_cli.main import build
from tests.agent_world import eager_world


def public_names() -> set[str]:
    """Every name that somebody outside may rely on."""
    return {*api_names(query_api(eager_world().app).openapi()), *commands(), *tools(), *client_names()}


def api_names(document: dict[str, Any]) -> Iterator[str]:
    """Routes with their parameters, bodies and statuses; properties of schemas with their types."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            route = f"api {method.upper()} {path}"
            yield route
            for each in operation.get("parameters", ()):
                yield f"{route} takes {each['in']} {_field(each['name'], each['schema'], each.get('required'))}"
            for name, found in {"body": operation.get("requestBody", {}), **operation["responses"]}.items():
                for kind, content in found.get("content", {}).items():
                    yield f"{route} {name} {kind} {_type(content.get('schema', {}))}"
    for name, schema in document["components"]["schemas"].items():
        yield from (f"schema {name}.{field}" for field in _fields(schema))


def commands() -> Iterator[str]:
    """Commands with the options and arguments of each."""
    yield from _command("cli ragdrop", get_command(build()))


def _command(name: str, command: Any) -> Iterator[str]:
    yield name
    for place, each in enumerate(command.params):
        options = sorted([*each.opts, *each.secondary_opts])
        yield f"{name} {' '.join(options) if each.param_type_name == 'option' else f'argument {place}'}"
    for inner, each in getattr(command, "commands", {}).items():
        yield from _command(f"{name} {inner}", each)


def tools() -> Iterator[str]:
    """Tools of agents with their arguments and the fields of their results."""
    for tool in TOOLS.values():
        listed = tool.listed()
        yield from (f"mcp {tool.name} takes {field}" for field in _fields(listed.input_schema))
        for name, schema in (listed.output_schema or {})["properties"].items():
            yield f"mcp {tool.name} gives {name}: {_type(schema)}"


def client_names() -> Iterator[str]:
    """The methods of the client and of what it gives, with their parameters."""
    for module in (sys.modules[RagdropClient.__module__], events, replies):
        for name, kind in inspect.getmembers(module, inspect.isclass):
            if kind.__module__ == module.__name__ and not name.startswith("_"):
                yield f"client {name}"
                yield from (f"client {name}.{method}" for method in _methods(kind))


def _methods(kind: type) -> Iterator[str]:
    for name, value in vars(kind).items():
        if name.startswith("_") and name != "__init__":
            continue
        yield name
        function = getattr(value, "__func__", value)
        if inspect.isfunction(function):
            for place, each in enumerate(inspect.signature(function).parameters.values()):
                by = "by name" if each.kind is each.KEYWORD_ONLY else f"{place}"
                yield f"{name} takes {by} {each.replace(annotation=each.empty)}"


def _fields(schema: dict[str, Any]) -> Iterator[str]:
    for name, field in schema.get("properties", {}).items():
        yield _field(name, field, name in schema.get("required", ()))


def _field(name: str, schema: dict[str, Any], required: object) -> str:
    return f"{name}{'' if required else '?'}: {_type(schema)}"


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    for kind in ("anyOf", "oneOf", "allOf"):
        if kind in schema:
            return " | ".join(map(_type, schema[kind]))
    if "enum" in schema:
        return ",".join(map(str, schema["enum"]))
    if schema.get("type") == "array":
        return f"[{_type(schema.get('items', {}))}]"
    return str(schema.get("const", schema.get("type", "any")))


if __name__ == "__main__":
    print("\n".join(sorted(public_names())))
