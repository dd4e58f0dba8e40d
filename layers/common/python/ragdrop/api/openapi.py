"""The complete OpenAPI document with errors, descriptions and examples, and its page `/docs`."""

import json
import re
from collections.abc import Iterator
from html import escape
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse
from starlette.routing import Route

from ragdrop.api.edge import STATUS
from ragdrop.api.shapes.fields import Replied
from ragdrop.domain.keys import MAX_KEY_BYTES, NAME_PATTERN

ERROR = "Error"
OPENAI_ERROR = "OpenAiError"
OF_EVERY_ROUTE = ("INVALID_PARAMS", "INTERNAL_ERROR", "DATABASE_ERROR", "TIMEOUT")
OF_EVERY_KEY = ("UNAUTHENTICATED", "FORBIDDEN", "RATE_LIMITED")
MORE = {
    "/search": ("INVALID_DOC_TYPE", "EMBEDDING_SERVICE_ERROR", "MODEL_NOT_FOUND"),
    "/ask": ("INVALID_DOC_TYPE", "EMBEDDING_SERVICE_ERROR", "MODEL_NOT_FOUND", "GENERATION_ERROR"),
    "/v1/chat/completions": ("NOT_FOUND", "EMBEDDING_SERVICE_ERROR", "MODEL_NOT_FOUND", "GENERATION_ERROR"),
    "/v1/responses": ("NOT_FOUND", "EMBEDDING_SERVICE_ERROR", "MODEL_NOT_FOUND", "GENERATION_ERROR"),
    "/v1/vector_stores/{vector_store_id}": ("NOT_FOUND",),
    "/v1/vector_stores/{vector_store_id}/search": ("NOT_FOUND", "EMBEDDING_SERVICE_ERROR", "MODEL_NOT_FOUND"),
    "/v1/vector_stores/{vector_store_id}/files": ("NOT_FOUND", "DOCUMENT_NOT_FOUND", "DOCUMENT_TOO_LARGE"),
    "/v1/vector_stores/{vector_store_id}/files/{file}": ("NOT_FOUND", "DOCUMENT_NOT_FOUND"),
    "/v1/files": ("DOCUMENT_NOT_FOUND", "DOCUMENT_TOO_LARGE"),
    "/v1/embeddings": ("NOT_FOUND", "EMBEDDING_SERVICE_ERROR", "MODEL_NOT_FOUND"),
    "/v1/models/{model}": ("NOT_FOUND",),
    "/knowledgebases/{knowledge_base}/retrieve": ("NOT_FOUND", "EMBEDDING_SERVICE_ERROR", "MODEL_NOT_FOUND"),
    "/rerank": ("NOT_FOUND",),
    **dict.fromkeys(
        ("/retrieveAndGenerate", "/retrieveAndGenerateStream"),
        ("NOT_FOUND", "EMBEDDING_SERVICE_ERROR", "MODEL_NOT_FOUND", "GENERATION_ERROR"),
    ),
    "/answers/{answer_id}": ("NOT_FOUND",),
    "/answers/{answer_id}/feedback": ("NOT_FOUND",),
    "/threads/{thread_id}": ("NOT_FOUND",),
    "/threads/{thread_id}/answers": ("NOT_FOUND", "CONFLICT"),
    "/threads/{thread_id}/markdown": ("NOT_FOUND",),
    "/documents/{vault}/{path}": ("DOCUMENT_NOT_FOUND", "DOCUMENT_TOO_LARGE"),
    "/documents/{vault}/{path}/history": ("DOCUMENT_NOT_FOUND",),
    "/documents/{vault}/{path}/tables": ("DOCUMENT_NOT_FOUND",),
    "/documents/{vault}/{path}/original": ("DOCUMENT_NOT_FOUND",),
    "/documents/{vault}/{path}/original/pages/{number}": (
        "DOCUMENT_NOT_FOUND",
        "DOCUMENT_TOO_LARGE",
        "CORRUPT_DOCUMENT",
        "ENCRYPTED_DOCUMENT",
        "UNSAFE_DOCUMENT",
    ),
    "/documents/{vault}/{path}/retry": ("DOCUMENT_NOT_FOUND",),
    "/uploads": ("DOCUMENT_NOT_FOUND",),
}
KEY_IS_OPTIONAL = ("/health",)
PATH_PARAMETERS = {
    "vault": {"pattern": f"^{NAME_PATTERN.pattern}$"},
    "path": {"minLength": 1, "maxLength": MAX_KEY_BYTES},
}
DOCUMENT = "/documents/{vault}/{path}"
MORE_OF = {
    "POST /app/sign-in": ("UNAUTHENTICATED",),
    "POST /threads": ("NOT_FOUND",),
    "GET /models/near": ("NOT_FOUND",),
    "POST /models/test": ("NOT_FOUND",),
    "POST /stages/{vault}/{stage}/promote": ("CONFLICT",),
    "POST /stages/{vault}/{stage}/discard": ("CONFLICT",),
    f"PUT {DOCUMENT}": ("CONFLICT", "PRECONDITION_FAILED"),
    f"DELETE {DOCUMENT}": ("CONFLICT", "PRECONDITION_FAILED"),
    f"POST {DOCUMENT}/retry": ("CONFLICT",),
}
WITH_ETAG = {f"PUT {DOCUMENT}": "202", f"GET {DOCUMENT}": "200"}
_ETAG = {"ETag": {"description": "Names what is shown; quoted.", "schema": {"type": "string"}}}
_HEADERS = {"X-Request-Id": {"description": "Names this request in logs.", "schema": {"type": "string"}}}
_RETRY = {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "string"}}}


PARAMETERS = {
    "vault": "The vault that the document lies in.",
    "path": "The document's path in its vault.",
    "cursor": "The `cursor` of the page before.",
    "limit": "How many at most.",
    "prefix": "Only paths that begin so.",
    "status": "Only documents that are `pending`, `staged`, `indexed`, `failed` or `deleted`.",
    "content_type": "Only chat, decision, code or documentation.",
    "category": "Only documents of this category.",
    "tag": "Only documents with this tag.",
    "session_id": "Only documents of this session.",
    "outdated": "1: only documents whose chunks have other sizes than those in force.",
    "unused_days": "Only documents that no answer used for so many days.",
    "broken_links": "1: only documents with links that lead to no document.",
    "version": "An S3 version: its status, its file, or with `content` or `span` its text.",
    "number": "The page's number, from 1.",
    "span": "Only these code points of the text: `start-end`, `end` exclusive.",
    "metadata": "What the document says of itself, as a JSON object; at most 2 KB as S3 keeps it.",
    "purge": "1 (admin): all versions and all that is stored of it go for good.",
    "answer_id": "The id of an answer, as `POST /ask` gave it.",
    "stage": "The stage's name.",
    "thread_id": "The id of a thread.",
}
"""What parameters of routes mean, by name."""
_DOCUMENT = {"request_id": "6f9c2a1e", "vault": "team", "path": "notes/pump.md", "key": "acme/team/notes/pump.md"}

_BASE = {"type": "KNOWLEDGE_BASE", "knowledgeBaseConfiguration": {"knowledgeBaseId": "ZKFSFUG3QO"}}
_ASKED = {"input": {"text": "How long are backups available?"}, "retrieveAndGenerateConfiguration": _BASE}
_SOURCE = {"type": "TEXT", "textDocument": {"text": "Backups are available for 35 days."}}
_PASSAGES = {"vectorSearchConfiguration": {"numberOfResults": 3}}

EXAMPLES: dict[str, dict[str, Any]] = {
    "POST /search": {"request": {"query": "How long are backups available?", "vaults": ["team"], "limit": 3}},
    "POST /ask": {"request": {"query": "How long are backups available?", "style": "brief"}},
    "POST /v1/chat/completions": {
        "request": {"model": "vault:team", "messages": [{"role": "user", "content": "How long are backups available?"}]}
    },
    "POST /v1/responses": {"request": {"model": "vault:team", "input": "How long are backups available?"}},
    "POST /v1/vector_stores/{vector_store_id}/search": {"request": {"query": "How long are backups available?"}},
    "POST /v1/vector_stores/{vector_store_id}/files": {"request": {"file_id": "file-bm90ZXMvcHVtcC5tZA"}},
    "POST /v1/embeddings": {"request": {"model": "default", "input": ["How long are backups available?"]}},
    "POST /v1/verify": {
        "request": {
            "answer": "The pump holds 7 litres [1]. It is blue.",
            "sources": [{"id": "pump.md", "text": "The pump is red. It holds 7 litres."}],
        }
    },
    "POST /knowledgebases/{knowledge_base}/retrieve": {
        "request": {"retrievalQuery": {"text": "How long are backups available?"}, "retrievalConfiguration": _PASSAGES}
    },
    "POST /rerank": {
        "request": {
            "queries": [{"type": "TEXT", "textQuery": {"text": "How long are backups available?"}}],
            "sources": [{"type": "INLINE", "inlineDocumentSource": _SOURCE}],
            "rerankingConfiguration": {"type": "BEDROCK_RERANKING_MODEL", "bedrockRerankingConfiguration": {}},
        }
    },
    "POST /retrieveAndGenerate": {"request": _ASKED},
    "POST /retrieveAndGenerateStream": {"request": _ASKED},
    "POST /app/sign-in": {"request": {"code": "Zb1pYV8mH3cN0qk6t2rXw9uLs4aJdEfG7hI5oPyQvTM"}},
    "POST /answers/{answer_id}/feedback": {"request": {"kind": "wrong", "text": "team/notes/backup.md says 35 days"}},
    "POST /models/test": {"request": {"url": "http://127.0.0.1:11434/v1", "model": "mistral"}},
    "POST /threads": {"request": {"answer_id": "0123456789abcdef0123456789abcdef", "name": "Backups"}},
    "POST /threads/{thread_id}/answers": {"request": {"answer_id": "0123456789abcdef0123456789abcdef"}},
    "PATCH /threads/{thread_id}": {"request": {"name": "Backups", "shared": True}},
    "POST /uploads": {"request": {"vault": "team", "path": "handbook.pdf", "media_type": "application/pdf"}},
    "POST /vaults/{vault}/rollback": {"request": {"to": "2026-01-31T10:00:00Z", "prefix": "notes/", "dry_run": True}},
    "PUT /documents/{vault}/{path}": {
        "response": {
            **_DOCUMENT,
            "version_id": "3sL4kqtJlcpXroDTDmJ.rmSpXd3dIbrHY",
            "status": "pending",
            "status_url": "https://api.example/prod/documents/team/notes/pump.md?version=3sL4kqtJlcpXroDTDmJ.rmSpXd3dIbrHY",
        }
    },
    "DELETE /documents/{vault}/{path}": {
        "response": {
            **_DOCUMENT,
            "version_id": "3sL4kqtJlcpXroDTDmJ.rmSpXd3dIbrHY",
            "status": "deleted",
            "restorable_until": "2026-02-01T09:00:00+00:00",
            "chunks_removed": None,
            "purged": None,
        }
    },
}

ERROR_MESSAGES: dict[str, tuple[str, dict[str, Any]]] = {
    "INVALID_PARAMS": (
        "limit: input should be less than or equal to 20",
        {"field": "limit", "value": 21, "allowed": {"le": 20}},
    ),
    "INVALID_DOC_TYPE": (
        "doc_types: 'memo' is not a type of these documents",
        {"field": "doc_types", "value": "memo", "allowed": ["insight", "problem", "tool"]},
    ),
    "UNAUTHENTICATED": ("the API key is unknown, expired or revoked", {}),
    "FORBIDDEN": ("this needs the role writer, the key has reader", {"role": "reader", "needed": "writer"}),
    "DOCUMENT_NOT_FOUND": (
        "there is no document 'team/notes/pump.md'",
        {"field": "path", "value": "team/notes/pump.md"},
    ),
    "NOT_FOUND": ("there is nothing at /answers/a1", {}),
    "CORRUPT_DOCUMENT": ("page 3 of the PDF cannot be drawn", {}),
    "ENCRYPTED_DOCUMENT": ("the document wants a password", {}),
    "UNSAFE_DOCUMENT": ("reading the pdf took longer than 8 s and was stopped; split it", {"limit_s": 8.0}),
    "CONFLICT": ("this Idempotency-Key came with another request", {"field": "Idempotency-Key"}),
    "PRECONDITION_FAILED": ("the document has another ETag", {"field": "If-Match"}),
    "DOCUMENT_TOO_LARGE": ("the body has 5000000 bytes, at most 4194304 go in one request", {"limit_bytes": 4_194_304}),
    "RATE_LIMITED": ("too many requests", {"retry_after_s": 7}),
    "INTERNAL_ERROR": ("something went wrong inside ragdrop", {}),
    "MODEL_NOT_FOUND": (
        "the endpoint does not have the model mistral",
        {"service": "chat", "retryable": False, "model": "mistral", "install": "ollama pull mistral"},
    ),
    "EMBEDDING_SERVICE_ERROR": (
        "the embedding service did not answer",
        {"service": "embedding", "retryable": True, "retry_after_s": 5},
    ),
    "DATABASE_ERROR": ("the index did not answer", {"service": "index", "retryable": True, "retry_after_s": 5}),
    "GENERATION_ERROR": ("the chat model did not answer", {"service": "chat", "retryable": True, "retry_after_s": 5}),
    "CIRCUIT_OPEN": ("the index is left alone after failures", {"service": "index", "retry_after_s": 30}),
    "TIMEOUT": ("no time was left for generate", {"service": "generate", "retryable": True, "stage": "generate"}),
}


def documented(api: FastAPI) -> FastAPI:
    """*api* with `/openapi.json` and `/docs`, which need no key."""
    made: dict[str, Any] = {}

    def document() -> dict[str, Any]:
        if not made:
            made.update(api_document(api))
        return made

    async def get_document(_request: Request) -> JSONResponse:
        return JSONResponse(document())

    async def get_page(_request: Request) -> HTMLResponse:
        return HTMLResponse(page_of(document()))

    api.openapi = document  # type: ignore[method-assign]  # how FastAPI lets its document be replaced
    api.router.routes.append(Route("/openapi.json", get_document, methods=["GET"]))
    api.router.routes.append(Route("/docs", get_page, methods=["GET"]))
    return api


def api_document(api: FastAPI) -> dict[str, Any]:
    """The OpenAPI 3.1 document of *api*'s routes."""
    document = get_openapi(
        title=api.title, version=api.version, description=api.description, routes=api.routes, tags=api.openapi_tags
    )
    schemas = document["components"]["schemas"]
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)  # FastAPI's own; errors have one shape here
    schemas |= {ERROR: _error_schema(openai=False), OPENAI_ERROR: _error_schema(openai=True)}
    for path, method, operation in _operations(document):
        _complete(path, method, operation)
    for schema in schemas.values():
        for field in schema.get("properties", {}).values():
            if "$ref" in field:  # pydantic leaves a description out that is the model's own
                field.setdefault("description", schemas[field["$ref"].rpartition("/")[2]]["description"])
    return document


def _operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def _complete(path: str, method: str, operation: dict[str, Any]) -> None:
    responses = operation["responses"]
    responses.pop("422", None)
    for parameter in operation.get("parameters", []):
        parameter.setdefault("description", PARAMETERS.get(parameter["name"], ""))
        if parameter["in"] == "path":
            parameter["schema"] |= PATH_PARAMETERS.get(parameter["name"], {})
    if path in KEY_IS_OPTIONAL:
        operation["security"].insert(0, {})
    name = f"{method.upper()} {path}"
    codes = [
        *OF_EVERY_ROUTE,
        *MORE.get(path, ()),
        *MORE_OF.get(name, ()),
        *(OF_EVERY_KEY if operation.get("security") else ()),
    ]
    for status in sorted({STATUS[code] for code in codes}):
        of_status = [code for code in dict.fromkeys(codes) if STATUS[code] == status]
        responses.setdefault(str(status), _error_response(of_status, openai=path.startswith("/v1/")))
    if name in WITH_ETAG:
        responses[WITH_ETAG[name]]["headers"] = dict(_ETAG)
    if name == f"GET {DOCUMENT}":
        responses["304"] = {"description": "What was shown before still holds.", "headers": dict(_ETAG)}
    for status, response in responses.items():
        response["headers"] = {
            **_HEADERS,
            **(_RETRY if status in {"429", "503"} else {}),
            **response.get("headers", {}),
        }
    example = EXAMPLES.get(name, {})
    if "request" in example:
        operation["requestBody"]["content"]["application/json"]["example"] = example["request"]
    if "response" in example:
        answered = next(status for status in responses if status.startswith("2"))
        responses[answered]["content"]["application/json"]["example"] = example["response"]


def _error_response(codes: list[str], *, openai: bool) -> dict[str, Any]:
    examples = {code: {"value": _error_example(code, openai=openai)} for code in codes}
    schema = {"$ref": f"#/components/schemas/{OPENAI_ERROR if openai else ERROR}"}
    return {
        "description": ", ".join(f"`{code}`" for code in codes) + ".",
        "content": {"application/json": {"schema": schema, "examples": examples}},
    }


def _error_example(code: str, *, openai: bool) -> dict[str, Any]:
    message, details = ERROR_MESSAGES[code]
    error: dict[str, Any] = {"code": code, "message": message, "details": details, "request_id": "6f9c2a1e"}
    if openai:
        error |= {"type": "invalid_request_error" if STATUS[code] < 500 else "server_error", "param": None}
    return {"error": error}


def _error_schema(*, openai: bool) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "code": {"type": "string", "enum": sorted(STATUS), "description": "Stable: what a program decides by."},
        "message": {"type": "string", "description": "For people: what was wrong, with the value and the limit."},
        "details": {
            "type": "object",
            "description": "By code: `field, value, allowed`; `service, retryable`; and so on.",
        },
        "request_id": {"type": "string", "description": Replied.model_fields["request_id"].description},
    }
    if openai:
        fields["type"] = {"type": "string", "description": "The OpenAI protocol's kind of error."}
        fields["param"] = {"type": ["string", "null"], "description": "The field that was wrong."}
    error = {"type": "object", "properties": fields, "required": list(fields), "description": "What went wrong."}
    return {
        "type": "object",
        "title": OPENAI_ERROR if openai else ERROR,
        "description": "The body of every error.",
        "properties": {"error": error, "message": {"type": "string", "description": "On Bedrock's routes: the same."}},
        "required": ["error"],
    }


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
    operations = list(_operations(document))
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
    rows += [("body", _type(content.get("schema", {})) or escape(kind), "") for kind, content in body.items()]
    replies = [
        (status, _type(schema), _words(response))
        for status, response in sorted(operation["responses"].items())
        for schema in [_first(response.get("content", {})).get("schema", {})]
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
        (f"<code>{escape(field)}</code>{'' if field in required else ' (optional)'}", _type(each), _words(each))
        for field, each in schema.get("properties", {}).items()
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


def _words(described: dict[str, Any]) -> str:
    default = described.get("default", described.get("schema", {}).get("default"))
    note = f" Default: <code>{escape(json.dumps(default))}</code>." if default not in (None, "", [], {}) else ""
    return _prose(described.get("description", "")) + note


def _prose(text: str) -> str:
    """Text with its `code` marked.

    >>> _prose("a `b` < c")
    'a <code>b</code> &lt; c'
    """
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text, quote=False)).replace("\n\n", "</p><p>")


def _anchor(method: str, path: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", f"{method}{path}".lower()).strip("-")
