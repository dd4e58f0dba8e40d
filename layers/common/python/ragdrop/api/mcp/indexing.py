"""`rag_context_index`: write a document and wait until it is indexed, failed, or the time is over."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeVar

import anyio
import anyio.to_thread

from ragdrop.api.mcp.backend import Backend
from ragdrop.api.mcp.requests import RagContextIndex
from ragdrop.api.mcp.results import Indexed
from ragdrop.domain.keys import DocumentKey, chunk_id
from ragdrop.errors import DependencyError, RagdropError

FIRST_POLL_S, POLL_GROWTH, LONGEST_POLL_S = 0.2, 1.5, 2.0
MEDIA_TYPES = {"documentation": "text/markdown", "decision": "text/markdown"}
MAX_TRIES_WITHOUT_A_RECORD = 5

Progress = Callable[[float, str], Awaitable[None]]
"""Tells how far it is: a number that rises, and words."""

T = TypeVar("T")


async def in_thread(call: Callable[[], T]) -> T:
    """Run what blocks beside the event loop; when the waiting is cancelled it is left to itself."""
    return await anyio.to_thread.run_sync(call, abandon_on_cancel=True)


async def index(client: Backend, asked: RagContextIndex, wait_s: float, progress: Progress) -> Indexed:
    """Write the document and wait up to *wait_s* seconds until it is found.

    Cancelling ends the waiting, not the indexing: what was written stays.

    Raises:
        RagdropError: The API refused or failed, or the document can never be indexed: the code says why.
    """
    start_s = time.perf_counter()
    path = asked.source or default_source(asked.content)
    facts = facts_of(asked)
    await progress(0, f"writing {asked.vault}/{path}")
    put = partial(
        client.put_document,
        asked.vault,
        path,
        asked.content.encode(),
        media_type=MEDIA_TYPES.get(asked.content_type or "documentation", "text/plain"),
        facts=facts or None,
    )
    accepted = await in_thread(put)
    await progress(1, "written; waiting until it is indexed")
    record = await _settled(client, accepted["status_url"], start_s + wait_s, progress)
    latency_ms = round((time.perf_counter() - start_s) * 1_000, 3)
    if record is None or record["status"] == "pending":
        return Indexed(
            success=False,
            pending=True,
            document_id=accepted["key"],
            chunks_indexed=None,
            chunk_ids=[],
            latency_ms=latency_ms,
            status_url=accepted["status_url"],
        )
    return _indexed(record, latency_ms)


def default_source(content: str) -> str:
    """The path of a document that was given none: 16 digits of its SHA-256.

    >>> default_source("hello")
    '2cf24dba5fb0a30e.md'
    """
    return hashlib.sha256(content.encode()).hexdigest()[:16] + ".md"


def facts_of(asked: RagContextIndex) -> dict[str, Any]:
    """What the document says of itself, as `PUT /documents` takes it in `metadata`.

    >>> facts_of(RagContextIndex(content="x", session_id="s1"))
    {'session_id': 's1'}
    """
    stated = {"content_type": asked.content_type, "session_id": asked.session_id, **asked.metadata.model_dump()}
    return {name: value for name, value in stated.items() if value}


async def _settled(client: Backend, status_url: str, until_s: float, progress: Progress) -> dict[str, Any] | None:
    """The record once it is no longer pending, or as it was last seen; None where it never could be read."""
    seen: dict[str, Any] | None = None
    delay_s, asked, missed = FIRST_POLL_S, 1, 0
    while time.perf_counter() + delay_s < until_s:
        await anyio.sleep(delay_s)
        delay_s = min(delay_s * POLL_GROWTH, LONGEST_POLL_S)
        asked += 1
        try:
            seen = dict(await in_thread(partial(client.status, status_url)))
        except DependencyError:  # it was written: ingest may well succeed while the API cannot be asked
            missed += 1
            if missed == MAX_TRIES_WITHOUT_A_RECORD:
                return seen
            continue
        if seen["status"] != "pending":
            return seen
        await progress(asked, "still being indexed")
    return seen


def _indexed(record: dict[str, Any], latency_ms: float) -> Indexed:
    failure = record["error"]
    if record["status"] == "failed" and failure:
        error = RagdropError(failure["message"], code=failure["code"], attempts=failure["attempts"])
        error.details["request_id"] = record.get("request_id")
        raise error
    key = DocumentKey.parse(record["key"])
    count = record["chunk_count"] if record["live_revision"] is not None else 0
    return Indexed(
        success=record["status"] == "indexed",
        pending=False,
        document_id=record["key"],
        chunks_indexed=count,
        chunk_ids=[chunk_id(key, record["live_revision"], ordinal) for ordinal in range(count)],
        latency_ms=latency_ms,
        status_url=None,
    )


def indexed_text(result: Indexed) -> str:
    """What became of a document, as text to read."""
    if result.pending:
        return f"{result.document_id} is stored and still being indexed; its status: {result.status_url}"
    return f"{result.document_id} is indexed in {result.chunks_indexed} chunks."
