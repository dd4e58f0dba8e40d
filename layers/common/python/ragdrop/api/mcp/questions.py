"""`rag_query`, `rag_context_search`, `rag_verify`: arguments become a request of the API, its reply a result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ragdrop.api.mcp.backend import Backend
from ragdrop.api.mcp.requests import RagContextSearch, RagQuery, RagVerify
from ragdrop.api.mcp.results import Answered, Nearest, Passage, PassageMetadata, Passages, Verified
from ragdrop.domain.answers import WIDEN

ALWAYS_SHOWN = 1.0


def query(client: Backend, asked: RagQuery) -> Answered:
    """Ask; a critical document that is always shown has the relevance 1.0.

    Raises:
        RagdropError: The API refused or failed.
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
    )
    if asked.include_critical:
        for source in reply["sources"]:
            if source["promotion_level"] == "critical":
                source["relevance_score"] = ALWAYS_SHOWN
    return Answered.model_validate(reply)


def search(client: Backend, asked: RagContextSearch) -> Passages:
    """Search; the matching chunks of the documents found, best first, at most `limit`.

    Raises:
        RagdropError: The API refused or failed.
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
        expand="neighbours",  # of the text around a chunk nothing is given
        agent=asked.agent,
        as_of=asked.as_of,
    )
    found = [_passage(document, chunk) for document in reply["results"] for chunk in document["chunks"]]
    found.sort(key=lambda passage: -(passage.score or 0.0))  # stable: equal ones stay in the order of their documents
    return Passages.model_validate({**reply, "results": found[: asked.limit]})


def verify(client: Backend, asked: RagVerify) -> Verified:
    """Check an answer that somebody else wrote.

    Raises:
        RagdropError: The API refused or failed.
    """
    return Verified.model_validate(client.verify(asked.answer, [each.model_dump() for each in asked.sources]))


def verified_text(result: Verified) -> str:
    """Statuses as text to read: one line a sentence, and the passage that decided."""
    lines = []
    for sentence in result.sentences:
        reason = f" ({sentence.reason})" if sentence.reason else ""
        lines.append(f"{sentence.status}{reason}: {sentence.text}")
        lines += [f"    {proof.source}, {proof.start}-{proof.end}: {proof.quote}" for proof in sentence.evidence]
    return _with_warnings("\n".join(lines), result.warnings)


def _passage(document: Mapping[str, Any], chunk: Mapping[str, Any]) -> Passage:
    return Passage(
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
    told = f"{result.answer}\n\nSources:\n" + "\n".join(lines) if lines else result.answer
    told += _closest(result.nearest) if result.abstained else ""
    return _with_warnings(told, result.warnings)


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


def _closest(nearest: list[Nearest]) -> str:
    """The closest documents, and what to do next."""
    if not nearest:
        return ""
    lines = [f"- {document.vault}/{document.path}: {document.title}" for document in nearest]
    return "\n".join(["\n\nClosest documents, which may not answer it:", *lines, WIDEN])


def _with_warnings(text: str, warnings: list[str]) -> str:
    return "\n".join([text, "", *(f"Note: {warning}" for warning in warnings)]) if warnings else text
