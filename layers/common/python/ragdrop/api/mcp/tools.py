"""The six tools: name, description, schemas and function of each."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from mcp_types import CallToolResult, TextContent, Tool, ToolAnnotations
from pydantic import BaseModel, ValidationError

from ragdrop.api.mcp import indexing, questions, requests, results
from ragdrop.api.mcp.backend import Backend
from ragdrop.api.mcp.failures import invalid, tool_error
from ragdrop.api.mcp.indexing import Progress, in_thread
from ragdrop.errors import RagdropError


@dataclass(frozen=True, slots=True)
class Call:
    """What a tool works with: a client, seconds that it may wait, its progress, and what counts its errors."""

    client: Backend
    wait_s: float
    progress: Progress
    note_error: Callable[[RagdropError], None]


@dataclass(frozen=True, slots=True)
class RagTool:
    """A tool: `run` gives its result, `words` the result as text to read."""

    name: str
    title: str
    description: str
    arguments: type[requests.Arguments]
    result: type[BaseModel]
    run: Callable[[Call, Any], Awaitable[BaseModel]]
    words: Callable[[Any], str]
    writes: bool = False

    def listed(self) -> Tool:
        """The tool as clients see it."""
        return Tool(
            name=self.name,
            title=self.title,
            description=self.description,
            input_schema=schema_of(self.arguments),
            output_schema=schema_of(self.result),
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
        return CallToolResult(content=[text], structured_content=results.as_structured(result))


async def _query(call: Call, asked: requests.RagQuery) -> BaseModel:
    return await in_thread(partial(questions.query, call.client, asked))


async def _search(call: Call, asked: requests.RagContextSearch) -> BaseModel:
    return await in_thread(partial(questions.search, call.client, asked))


async def _verify(call: Call, asked: requests.RagVerify) -> BaseModel:
    return await in_thread(partial(questions.verify, call.client, asked))


async def _index(call: Call, asked: requests.RagContextIndex) -> BaseModel:
    return await indexing.index(call.client, asked, call.wait_s, call.progress)


async def _health(call: Call, _asked: requests.RagContextHealth) -> BaseModel:
    return results.Health.model_validate(await in_thread(call.client.health))


async def _stats(call: Call, asked: requests.RagContextStats) -> BaseModel:
    return results.Stats.model_validate(await in_thread(partial(call.client.stats, asked.time_range)))


def _as_json(result: BaseModel) -> str:
    return json.dumps(results.as_structured(result), indent=2, ensure_ascii=False)


TOOLS = {
    tool.name: tool
    for tool in (
        RagTool(
            "rag_query",
            "Answer a question from the documents",
            "Answers a question from the project's documents, with citations that were checked against them. Says so "
            "where the documents do not answer it. Use it for questions; use rag_context_search for raw passages.",
            requests.RagQuery,
            results.Answered,
            _query,
            questions.answer_text,
        ),
        RagTool(
            "rag_context_search",
            "Find passages in the documents",
            "Finds the passages of the project's documents that fit a question, best first, with their sources. No "
            "model writes anything: use it for context of your own.",
            requests.RagContextSearch,
            results.Passages,
            _search,
            questions.passages_text,
        ),
        RagTool(
            "rag_verify",
            "Check an answer against texts",
            "Checks each sentence of an answer against the texts that it was written from, yours or anybody's, and "
            "gives the passage that decided. The project's documents are not searched and nothing is kept.",
            requests.RagVerify,
            results.Verified,
            _verify,
            questions.verified_text,
        ),
        RagTool(
            "rag_context_index",
            "Keep a document",
            "Keeps a text as a document, so that later questions find it. The same source replaces. It waits until the "
            "document is found; where that takes too long it says pending and the document is found a little later.",
            requests.RagContextIndex,
            results.Indexed,
            _index,
            indexing.indexed_text,
            writes=True,
        ),
        RagTool(
            "rag_context_health",
            "Is everything well?",
            "Tells whether the service and each thing that it depends on are well.",
            requests.RagContextHealth,
            results.Health,
            _health,
            _as_json,
        ),
        RagTool(
            "rag_context_stats",
            "How much is used?",
            "Counts the project's documents and queries of a time: latencies, fallbacks, errors, tokens and cost.",
            requests.RagContextStats,
            results.Stats,
            _stats,
            _as_json,
        ),
    )
}


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
