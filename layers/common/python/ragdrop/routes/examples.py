"""Examples of requests, replies and errors, as the OpenAPI document shows them."""

from __future__ import annotations

from typing import Any

_DOCUMENT = {"request_id": "6f9c2a1e", "vault": "team", "path": "notes/pump.md", "key": "acme/team/notes/pump.md"}

EXAMPLES: dict[str, dict[str, Any]] = {
    "POST /search": {"request": {"query": "How long is a backup kept?", "vaults": ["team"], "limit": 3}},
    "POST /ask": {"request": {"query": "How long is a backup kept?", "style": "brief"}},
    "POST /v1/chat/completions": {
        "request": {"model": "vault:team", "messages": [{"role": "user", "content": "How long is a backup kept?"}]}
    },
    "POST /uploads": {"request": {"vault": "team", "path": "handbook.pdf", "media_type": "application/pdf"}},
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
