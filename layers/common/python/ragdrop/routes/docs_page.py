"""`GET /docs`: the OpenAPI document as one page to read, without scripts and without anything from elsewhere."""

from __future__ import annotations

import json
import re
from html import escape
from typing import Any

_STYLE = """body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}
table{border-collapse:collapse;width:100%;margin:.5rem 0}
td,th{border:1px solid #ccc;padding:.3rem .5rem;text-align:left;vertical-align:top}
code,pre{font:14px/1.4 ui-monospace,monospace;background:#f4f4f4}pre{padding:.6rem;overflow:auto}
h2{border-top:2px solid #222;padding-top:1rem}.m{color:#fff;background:#246;padding:.1rem .5rem;border-radius:.2rem}
@media(prefers-color-scheme:dark){body{background:#161616;color:#ddd}code,pre{background:#262626}td,th{border-color:#444}
a{color:#8bf}h2{border-color:#ddd}}"""


def page_of(document: dict[str, Any]) -> str:
    """The page: every route with its parameters, its body, its replies and its errors."""
    info = document["info"]
    operations = [
        (path, method, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    contents = "".join(
        f'<li><a href="#{_anchor(method, path)}"><code>{method.upper()} {escape(path)}</code></a> '
        f"{escape(operation.get('summary', ''))}</li>"
        for path, method, operation in operations
    )
    schemas = document["components"]["schemas"]
    parts = [_operation(path, method, operation) for path, method, operation in operations]
    parts += ["<h2>Schemas</h2>", *(_schema(name, schema) for name, schema in sorted(schemas.items()))]
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{escape(info['title'])} API</title><style>{_STYLE}</style>"
        f"<h1>{escape(info['title'])} {escape(info['version'])}</h1><p>{escape(info['description'])} The same for "
        f'programs: <a href="openapi.json">openapi.json</a>.</p><ul>{contents}</ul>{"".join(parts)}</html>'
    )


def _operation(path: str, method: str, operation: dict[str, Any]) -> str:
    rows = [
        (f"<code>{escape(each['name'])}</code> ({each['in']})", _type(each["schema"]), _words(each))
        for each in operation.get("parameters", [])
    ]
    body = operation.get("requestBody", {}).get("content", {})
    rows += [("body", _type(held.get("schema", {})) or escape(kind), "") for kind, held in body.items()]
    replies = [
        (status, _type(held), _words(response))
        for status, response in sorted(operation["responses"].items())
        for held in [_first(response.get("content", {})).get("schema", {})]
    ]
    example = body.get("application/json", {}).get("example")
    shown = f"<pre>{escape(json.dumps(example, indent=2, ensure_ascii=False))}</pre>" if example else ""
    key = "" if operation.get("security") else "<p>Needs no key.</p>"
    return (
        f'<h2 id="{_anchor(method, path)}"><span class="m">{method.upper()}</span> <code>{escape(path)}</code></h2>'
        f"<p>{_prose(operation.get('description', ''))}</p>{key}{shown}"
        f"{_table(('takes', 'type', 'meaning'), rows)}{_table(('replies', 'type', 'meaning'), replies)}"
    )


def _first(content: dict[str, Any]) -> dict[str, Any]:
    """The first media type of several: the others only carry the same in pieces."""
    return dict(next(iter(content.values()), {}))


def _schema(name: str, schema: dict[str, Any]) -> str:
    required = set(schema.get("required", []))
    rows = [
        (f"<code>{escape(field)}</code>{'' if field in required else ' (optional)'}", _type(held), _words(held))
        for field, held in schema.get("properties", {}).items()
    ]
    said = _prose(schema.get("description", ""))
    return f'<h3 id="{escape(name)}">{escape(name)}</h3><p>{said}</p>{_table(("field", "type", "meaning"), rows)}'


def _table(head: tuple[str, str, str], rows: list[tuple[str, str, str]]) -> str:
    if not rows:
        return ""
    lines = "".join(f"<tr><td>{'</td><td>'.join(row)}</td></tr>" for row in rows)
    return f"<table><tr><th>{'</th><th>'.join(head)}</th></tr>{lines}</table>"


def _type(schema: dict[str, Any]) -> str:
    """The type in words; a schema of the document's own is a link."""
    if "$ref" in schema:
        name = escape(schema["$ref"].rpartition("/")[2])
        return f'<a href="#{name}">{name}</a>'
    for kind in ("anyOf", "oneOf"):
        if kind in schema:
            return " or ".join(_type(each) for each in schema[kind])
    if "enum" in schema:
        return ", ".join(f"<code>{escape(str(each))}</code>" for each in schema["enum"])
    if "const" in schema:
        return f"<code>{escape(str(schema['const']))}</code>"
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {})) or 'anything'}"
    kind = schema.get("type", "")
    limits = [f"{name} {schema[name]}" for name in ("minimum", "maximum", "minLength", "maxLength") if name in schema]
    return escape(" or ".join(kind) if isinstance(kind, list) else kind) + (f" ({', '.join(limits)})" if limits else "")


def _words(held: dict[str, Any]) -> str:
    default = held.get("default", held.get("schema", {}).get("default"))
    told = f" Default: <code>{escape(json.dumps(default))}</code>." if default not in (None, "", [], {}) else ""
    return _prose(held.get("description", "")) + told


def _prose(text: str) -> str:
    """Text with its `code` marked.

    >>> _prose("a `b` < c")
    'a <code>b</code> &lt; c'
    """
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text, quote=False)).replace("\n\n", "</p><p>")


def _anchor(method: str, path: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", f"{method}{path}".lower()).strip("-")
