"""The six tools: what each takes, does and gives."""

import hashlib
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeVar
from urllib.parse import quote

import anyio
import anyio.to_thread
from mcp_types import CallToolResult, ResourceLink, TextContent, Tool, ToolAnnotations
from pydantic import BaseModel, ValidationError

from ragdrop.api.mcp.backend import Backend, invalid, tool_error
from ragdrop.api.mcp.tool_shapes import (
    Answered,
    Arguments,
    Indexed,
    PassageMetadata,
    Passages,
    PassageShape,
    RagContextHealth,
    RagContextIndex,
    RagContextSearch,
    RagContextStats,
    RagQuery,
    RagVerify,
)
from ragdrop.api.shapes.answer_shapes import Verification
from ragdrop.api.shapes.operation_shapes import ServiceHealth, TenantFigures
from ragdrop.api.shapes.search_shapes import NearestDocument
from ragdrop.domain.answers import WIDEN, closest_text
from ragdrop.domain.keys import DocumentKey, chunk_id
from ragdrop.errors import DependencyError, RagdropError

ALWAYS_SHOWN = 1.0


def query(client: Backend, asked: RagQuery) -> Answered:
    """Ask; a critical document that is always shown has the relevance 1.0.

    Raises RagdropError: the API refused or failed.
    """
    given = asked.model_fields_set  # what was left out is for the settings to say
    reply = client.ask(
        asked.query,
        limit=asked.max_sources,
        doc_types=asked.doc_types or None,
        min_relevance=asked.min_relevance_score if "min_relevance_score" in given else None,
        min_promotion_level=asked.min_promotion_level if asked.min_promotion_level != "standard" else None,
        include_critical=asked.include_critical,
        vaults=asked.vaults or None,
        agent=asked.agent,
        as_of=asked.as_of,
        answer_anyway=asked.answer_anyway or None,
    )
    if asked.include_critical:
        for source in reply["sources"]:
            if source["promotion_level"] == "critical":
                source["relevance_score"] = ALWAYS_SHOWN
    return Answered.model_validate(reply)


def search(client: Backend, asked: RagContextSearch) -> Passages:
    """Search; the matching chunks of the documents found, best first, at most `limit`.

    Raises RagdropError: the API refused or failed.
    """
    reply = client.search(
        asked.query,
        limit=asked.limit,
        category=[asked.category] if asked.category else None,
        session_id=[asked.session_id] if asked.session_id else None,
        content_type=[asked.content_type] if asked.content_type else None,
        doc_types=asked.doc_types or None,
        vaults=asked.vaults or None,
        attributes=asked.attributes or None,
        include_critical=False,  # a critical document is shown for what it is, not for a passage that matches
        follow_links=False,
        rerank=asked.rerank or None,
        expand="neighbours",  # of the text around a chunk nothing is given
        agent=asked.agent,
        as_of=asked.as_of,
    )
    found = [_passage(document, chunk) for document in reply["results"] for chunk in document["chunks"]]
    if (reply.get("reranking") or {}).get("status") != "reranked":
        found.sort(key=lambda passage: -(passage.score or 0.0))  # stable: equal ones stay as their documents
    return Passages.model_validate({**reply, "results": found[: asked.limit]})


def verify(client: Backend, asked: RagVerify) -> Verification:
    """Check an answer that somebody else wrote. Raises RagdropError: the API refused or failed."""
    sources = [each.model_dump() for each in asked.sources]
    return Verification.model_validate(client.verify(asked.answer, sources, question=asked.question))


def verified_text(result: Verification) -> str:
    """Statuses as text to read: one line a sentence, and the passage that decided."""
    lines = []
    if (verdict := result.answers_question) is not None:
        lines.append(f"answers the question: {verdict.status}" + (f" ({verdict.reason})" if verdict.reason else ""))
    for sentence in result.sentences:
        reason = f" ({sentence.reason})" if sentence.reason else ""
        lines.append(f"{sentence.status}{reason}: {sentence.text}")
        lines += [f"    {proof.source}, {proof.start}-{proof.end}: {proof.quote}" for proof in sentence.evidence]
    return _with_warnings("\n".join(lines), result.warnings)


def _passage(document: Mapping[str, Any], chunk: Mapping[str, Any]) -> PassageShape:
    return PassageShape(
        content=chunk["text"],
        score=chunk["score"],
        source=document["key"],
        timestamp=document["indexed_at"],
        metadata=PassageMetadata.model_validate(document),
    )


def answer_text(result: Answered) -> str:
    """An answer as text to read: its sources stand under it, numbered as the model cites them."""
    notes = {
        citation.marker: f"[{citation.marker}] {citation.path}" + (f", {citation.place}" if citation.place else "")
        for citation in result.citations
    }
    lines = [notes[marker] for marker in sorted(notes)]
    if not lines and not result.abstained:
        lines = [f"- {source.vault}/{source.path}" for source in result.sources]
    text = f"{result.answer}\n\nSources:\n" + "\n".join(lines) if lines else result.answer
    if hint := closest_text([(f"{each.vault}/{each.path}", each.quote) for each in result.closest]):
        text += f"\n\n{hint}"
    return _with_warnings(text, result.warnings)


def passages_text(result: Passages) -> str:
    """Passages as text to read."""
    if not result.results:
        return _with_warnings(f"Nothing was found.{_closest(result.nearest)}", result.warnings)
    parts = [
        f"{place}. {passage.source}" + (f" ({passage.score:.2f})" if passage.score is not None else "") + "\n"
        f"{passage.content}"
        for place, passage in enumerate(result.results, 1)
    ]
    return _with_warnings("\n\n".join(parts), result.warnings)


def _closest(nearest: list[NearestDocument]) -> str:
    """The closest documents, and what to do next."""
    if not nearest:
        return ""
    lines = [f"- {document.vault}/{document.path}: {document.title}" for document in nearest]
    return "\n".join(["\n\nClosest documents, which may not answer it:", *lines, WIDEN])


def _with_warnings(text: str, warnings: list[str]) -> str:
    return "\n".join([text, "", *(f"Note: {warning}" for warning in warnings)]) if warnings else text


def cited_documents(result: Answered) -> list[tuple[str, str]]:
    """Vault and path of the documents that an answer cites, else of those that it was made from, each once."""
    cited = [DocumentKey.parse(citation.key) for citation in result.citations]
    sources = [] if result.abstained else result.sources
    return list(dict.fromkeys((each.vault, each.path) for each in cited or sources))


def found_documents(result: Passages) -> list[tuple[str, str]]:
    """Vault and path of the documents of passages, each once."""
    keys = [DocumentKey.parse(passage.source) for passage in result.results]
    return list(dict.fromkeys((key.vault, key.path) for key in keys))


SCHEME = "ragdrop"


def uri_of(vault: str, path: str) -> str:
    """The URI of a document.

    >>> uri_of("team", "notes/a b.md")
    'ragdrop://team/notes/a%20b.md'
    """
    return f"{SCHEME}://{vault}/{quote(path)}"


def media_type_of_text(path: str) -> str:
    """The media type of a document's parsed text."""
    return "text/markdown" if path.lower().endswith((".md", ".markdown")) else "text/plain"


def link_of(vault: str, path: str) -> ResourceLink:
    """A link to the resource that a document is."""
    name, kind = f"{vault}/{path}", media_type_of_text(path)
    return ResourceLink(type="resource_link", uri=uri_of(vault, path), name=name, mime_type=kind)


FIRST_POLL_S, POLL_GROWTH, LONGEST_POLL_S = 0.2, 1.5, 2.0
MEDIA_TYPES = {"documentation": "text/markdown", "decision": "text/markdown"}
MAX_TRIES_WITHOUT_A_RECORD = 5

Progress = Callable[[float, str], Awaitable[None]]
"""Reports how far it is: a number that rises, and words."""

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
    facts = metadata_of(asked)
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


def metadata_of(asked: RagContextIndex) -> dict[str, Any]:
    """What the document says of itself, as `PUT /documents` takes it in `metadata`.

    >>> metadata_of(RagContextIndex(content="x", session_id="s1"))
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


@dataclass(frozen=True, slots=True)
class Call:
    """What a tool works with: a client, seconds that it may wait, its progress, and what counts its errors."""

    client: Backend
    wait_s: float
    progress: Progress
    note_error: Callable[[RagdropError], None]


@dataclass(frozen=True, slots=True)
class RagTool:
    """A tool: `run` gives its result, `words` the result as text to read, `documents` those that it links to."""

    name: str
    title: str
    description: str
    arguments: type[Arguments]
    result: type[BaseModel]
    run: Callable[[Call, Any], Awaitable[BaseModel]]
    words: Callable[[Any], str]
    documents: Callable[[Any], list[tuple[str, str]]] = lambda _result: []
    writes: bool = False

    def listed(self) -> Tool:
        """The tool as clients see it."""
        return Tool(
            name=self.name,
            title=self.title,
            description=self.description,
            input_schema=schema_of(self.arguments),
            output_schema=schema_of(self.result, mode="serialization"),
            annotations=ToolAnnotations(
                read_only_hint=not self.writes,
                destructive_hint=self.writes,  # the same source replaces
                idempotent_hint=True,
                open_world_hint=False,
            ),
        )

    async def __call__(self, call: Call, arguments: dict[str, Any]) -> CallToolResult:
        """Run the tool; whatever ragdrop raises on purpose is a result too, with its code."""
        try:
            result = await self.run(call, self.arguments.model_validate(arguments))
        except (ValidationError, RagdropError) as exc:
            error = invalid(exc) if isinstance(exc, ValidationError) else exc
            call.note_error(error)
            return tool_error(error)
        text = TextContent(type="text", text=self.words(result))
        links = [link_of(vault, path) for vault, path in self.documents(result)]
        return CallToolResult(content=[text, *links], structured_content=as_structured(result))


def _blocking(work: Callable[[Backend, Any], BaseModel]) -> Callable[[Call, Any], Awaitable[BaseModel]]:
    async def run(call: Call, asked: Arguments) -> BaseModel:
        return await in_thread(partial(work, call.client, asked))

    return run


async def _index(call: Call, asked: RagContextIndex) -> BaseModel:
    return await index(call.client, asked, call.wait_s, call.progress)


def _health(client: Backend, _asked: RagContextHealth) -> BaseModel:
    return ServiceHealth.model_validate(client.health())


def _stats(client: Backend, asked: RagContextStats) -> BaseModel:
    return TenantFigures.model_validate(client.stats(asked.time_range))


def _as_json(result: BaseModel) -> str:
    return json.dumps(as_structured(result), indent=2, ensure_ascii=False)


TOOLS = {
    tool.name: tool
    for tool in (
        RagTool(
            "rag_query",
            "Answer a question from the documents",
            "Answers a question from the project's documents, with citations that were checked against them. Says so "
            "where the documents do not answer it. Use it for questions; use rag_context_search for raw passages.",
            RagQuery,
            Answered,
            _blocking(query),
            answer_text,
            cited_documents,
        ),
        RagTool(
            "rag_context_search",
            "Find passages in the documents",
            "Finds the passages of the project's documents that fit a question, best first, with their sources. No "
            "model writes anything: use it for context of your own.",
            RagContextSearch,
            Passages,
            _blocking(search),
            passages_text,
            found_documents,
        ),
        RagTool(
            "rag_verify",
            "Check an answer against texts",
            "Checks each sentence of an answer against the texts that it was written from, yours or anybody's, and "
            "gives the passage that decided. The project's documents are not searched and nothing is stored.",
            RagVerify,
            Verification,
            _blocking(verify),
            verified_text,
        ),
        RagTool(
            "rag_context_index",
            "Keep a document",
            "Keeps a text as a document, so that later questions find it. The same source replaces. It waits until the "
            "document is found; where that takes too long it says pending and the document is found a little later.",
            RagContextIndex,
            Indexed,
            _index,
            indexed_text,
            writes=True,
        ),
        RagTool(
            "rag_context_health",
            "Is everything well?",
            "Reports whether the service and each thing that it depends on are well.",
            RagContextHealth,
            ServiceHealth,
            _blocking(_health),
            _as_json,
        ),
        RagTool(
            "rag_context_stats",
            "How much is used?",
            "Counts the project's documents and queries of a time: latencies, fallbacks, errors, tokens and cost.",
            RagContextStats,
            TenantFigures,
            _blocking(_stats),
            _as_json,
        ),
    )
}


_PREFIX = "#/$defs/"


def schema_of(model: type[BaseModel], *, mode: Literal["validation", "serialization"] = "validation") -> dict[str, Any]:
    """The JSON schema of *model*: references are replaced by what they name, generated titles are left out.

    >>> class Point(BaseModel):
    ...     x: int
    >>> schema_of(Point)
    {'properties': {'x': {'type': 'integer'}}, 'required': ['x'], 'type': 'object'}
    """
    schema = model.model_json_schema(mode=mode)
    definitions = schema.pop("$defs", {})
    found = _whole(schema, definitions)
    found.pop("description", None)  # the model's docstring; a tool has another description
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


def as_structured(result: BaseModel) -> dict[str, Any]:
    """A result as structured content."""
    return result.model_dump(mode="json")
