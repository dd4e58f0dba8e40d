"""What `POST /ask` and `POST /v1/verify` reply (docs/api.md)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from groundcheck import STANDING, ClaimStatus
from ragdrop.api.shapes.fields import (
    CharCount,
    ChunkHash,
    ChunkId,
    ChunkIndex,
    HeadingPath,
    LatencyMs,
    Page,
    Placed,
    PlaceInDocument,
    Replied,
    Spanned,
    Title,
    VersionId,
    Warnings,
    base_of,
    placed,
    shaped,
)
from ragdrop.api.shapes.search_shapes import DebugShape, Flags, NearestShape, debug_shape, flags, nearest_shapes
from ragdrop.domain.answers import (
    Answer,
    CheckedSentence,
    Citation,
    ClosestPassage,
    Shown,
    citation_fields,
    sentence_fields,
)
from ragdrop.domain.chunks import Hit
from ragdrop.domain.documents import PromotionLevel

if TYPE_CHECKING:
    from starlette.requests import Request

MAX_ANSWER_CHARACTERS = 20_000
MAX_SOURCES = 50
MAX_METADATA_KEY = 100  # characters, as Bedrock's model of the service has it
MAX_SOURCE_CHARACTERS = 500_000  # of all sources together

Marker = Annotated[int, Field(description="The [n] in the answer, from 1 in the order of the text.")]
SentenceStatus = Annotated[
    ClaimStatus,
    Field(description="`verified`, `supported`, `contradicted`, `unsupported`, `missing` or `not_a_claim`."),
]
SentenceText = Annotated[str, Field(description="The sentence.")]
Quote = Annotated[str, Field(description="The words of the source that support the sentence.")]
SupportOrNull = Annotated[float | None, Field(description="How well the quote supports the sentence, in [0, 1].")]
ReasonOrNull = Annotated[str | None, Field(description="Why it has this status; null where nothing is to be added.")]
Attributed = Annotated[
    bool,
    Field(description="The sentence has no marker of the model's; the check found its evidence among the sources."),
]


class CitedEvidence(Spanned):
    """A cited sentence's evidence: `quote` is code points `start` to `end` of the parsed text of that version."""

    marker: Marker
    bucket: str = Field(description="The document bucket.")
    key: str = Field(description="The document's key in the bucket: `tenant/vault/path`.")
    version_id: VersionId
    path: str = Field(description="The document's path in its vault.")
    quote: Quote
    page: Page
    place: PlaceInDocument = None
    heading_path: HeadingPath
    chunk_id: ChunkId
    chunk_hash: ChunkHash
    support: float = Field(description="How well the quote supports the sentence, in [0, 1].")
    status: SentenceStatus
    attributed: Attributed


class CitationShape(CitedEvidence):
    """A cited sentence's evidence: `quote` is code points `start` to `end` of the parsed text of that version."""

    url: str | None = Field(default=None, description="The evidence in the web page, as a browser opens it.")


class ReferenceShape(Placed):
    """A chunk that the answer refers to."""

    heading_path: HeadingPath
    chunk_index: ChunkIndex
    chunk_id: ChunkId


class UnsupportedShape(Spanned):
    """A sentence of the answer that its sources do not support: code points of `answer`, and what is wrong."""

    text: SentenceText
    reason: str = Field(description="Why the check does not support it.")


class ClaimShape(Spanned):
    """A sentence of the answer and what its check gave."""

    text: SentenceText
    status: SentenceStatus
    markers: list[int] = Field(description="The markers of the sentence.")
    reason: ReasonOrNull
    support: SupportOrNull
    attributed: Attributed
    untrusted: bool = Field(default=False, description="Only vaults where strangers write support the sentence.")


class AskDebugShape(DebugShape):
    """Why the results are what they are, and each claim of the answer."""

    claims: list[ClaimShape] = Field(description="Each sentence of the answer, and what its check gave.")


class LinkedSourceShape(Placed):
    """A document that a result links to and whose text was in the prompt."""

    title: Title
    char_count: CharCount
    linked_from: str | None = Field(description="`vault/path` of the document that links to it.")
    link_depth: int | None = Field(description="How many links away from a result.")


class SourceShape(Placed):
    """A document whose text was in the prompt."""

    title: Title
    char_count: CharCount
    relevance_score: float | None = Field(description="Relevance in [0, 1].")
    promotion_level: PromotionLevel = Field(description="standard, important or critical.")


class ExcludedShape(Placed):
    """A document that was found but not shown to the model, or not whole."""

    reason: str = Field(description="Why it was not shown, or not whole.")


class AnswersQuestionShape(BaseModel):
    """Whether an answer answers its question: another thing than whether it is true."""

    model_config = ConfigDict(from_attributes=True)

    status: Literal["yes", "unsure", "no", "unchecked"] = Field(
        description="`unsure` is shown, and may answer something else; `no` is never shown as an answer; `unchecked` "
        "without a reader, or in a language it does not know."
    )
    reason: str | None = Field(
        description="Why not: `no_number`, `no_name`, `repeats_question`, or `reader`, which takes it for no answer; "
        "`not_read` where the reader did not answer."
    )
    score: float | None = Field(
        description="The probability that it answers: for `no` by the reader of the answer alone, else by its passages "
        "too; null where the reader was not asked."
    )
    threshold: float | None = Field(description="What the score is compared with.")


class ClosestShape(Placed, Spanned):
    """A passage that came nearest to answering: code points `start` to `end` of the parsed text; no evidence."""

    title: Title
    key: str = Field(description="The document's key in the bucket: `tenant/vault/path`.")
    version_id: VersionId
    heading_path: HeadingPath
    quote: str = Field(description="What it says. Nothing confirms that it answers.")
    score: float | None = Field(description="The probability that it may answer; null where no reader read it.")
    threshold: float | None = Field(default=None, description="What the best score needs before a model is asked.")


class UsageShape(BaseModel):
    """What all calls of models for one question used."""

    model_config = ConfigDict(from_attributes=True)

    prompt_tokens: int | None = Field(description="Tokens that chat models read; null if an endpoint did not count.")
    completion_tokens: int | None = Field(description="Tokens that they wrote.")
    embedding_tokens: int | None = Field(
        default=None, description="Tokens that the embedding model read; null if its endpoint did not count."
    )
    reader_pairs: int = Field(default=0, description="Pairs of texts that the reader, or a reranker, read.")
    reader_ms: float = Field(default=0.0, description="Milliseconds that this took.")


class BedrockShape(BaseModel):
    """The citations in Amazon Bedrock's shape."""

    citations: list[dict[str, Any]] = Field(description="Evidence of the answer's sentences, each checked.")


AnswerText = Annotated[str, Field(description="The answer, always a sentence.")]
Citations = Annotated[list[CitationShape], Field(description="Evidence of the answer's sentences, each checked.")]
Unsupported = Annotated[
    list[UnsupportedShape], Field(description="Sentences that their sources do not support, or contradict.")
]
ChatModelName = Annotated[str | None, Field(description="The chat model that wrote it; null where none did.")]
FinishReason = Annotated[str | None, Field(description="Why the model stopped.")]
Usage = Annotated[UsageShape, Field(description="What all calls of models used: tokens, pairs read, milliseconds.")]
Cost = Annotated[
    float | None, Field(description="By the price table of the deployment; null where the model has no price.")
]


class TableProofShape(BaseModel):
    """How an answer was computed from the cells of a table."""

    model_config = ConfigDict(from_attributes=True)

    value: str = Field(description="The answer, with its unit, or the texts of a list.")
    number: str | None = Field(description="The answer as a decimal number; null where it is none.")
    path: str = Field(description="The path of the table's document; empty for the table of a vault's documents.")
    range: str = Field(description="The table without its header, such as `Budget!A2:C40`.")
    cells: list[str] = Field(description="The cells that were read, at most 1,000, such as `Budget!B2`.")
    rows_used: int = Field(description="How many rows gave the answer.")
    rows_total: int = Field(description="How many rows there are, totals not counted.")
    expression: str = Field(description="What was computed.")
    planned_by: str | None = Field(
        default=None, description="The chat model that proposed what to compute; null where the question's words did."
    )


class AskResponse(Flags):
    """An answer and what it stands on."""

    asked: str | None = Field(default=None, description="The question as it was searched, `history` considered.")
    answer: AnswerText
    citations: Citations
    references: list[ReferenceShape] = Field(description="Chunks that the answer refers to.")
    references_basis: Literal["cited", "all"] = Field(description="`cited`, or `all` where the model cited none.")
    sources: list[SourceShape] = Field(description="Documents whose text the model was shown, critical first.")
    linked_docs: list[LinkedSourceShape] = Field(description="Linked documents whose text the model was shown.")
    excluded: list[ExcludedShape] = Field(description="Documents that were found and not shown, or not whole.")
    sentences: list[ClaimShape] = Field(description="Each sentence of the answer with its status.")
    unsupported: Unsupported
    answers_question: AnswersQuestionShape = Field(
        description="Whether it answers the question; whether it is true, `sentences` say."
    )
    closest: list[ClosestShape] = Field(
        description="Where it abstained: the closest passages, at most 2, quoted; `answer_anyway` answers from these."
    )
    nearest: list[NearestShape] = Field(
        description="Where nothing answers: the closest documents, at most 3. They are no evidence."
    )
    model: ChatModelName
    usage: Usage
    cost: Cost
    finish_reason: FinishReason
    prompt_version: str = Field(description="The version of the prompt.")
    answer_id: str | None = Field(description="Of the receipt, stored 30 days.")
    bedrock: BedrockShape = Field(description="The citations in Amazon Bedrock's shape.")
    context: str | None = Field(
        default=None, description="All texts in three headed groups, for a model of your own; with `include_context`."
    )
    table: TableProofShape | None = Field(
        default=None, description="Where the answer was computed from a table: cells and expression; absent else."
    )
    debug: AskDebugShape | None = Field(default=None, description="Why the results are what they are; with `debug`.")


def ask_response(answer: Answer, request: Request, start_s: float) -> AskResponse:
    """The body of `POST /ask`; *start_s* is of time.perf_counter."""
    condition = flags(answer.retrieval, request, start_s)
    cited = list(dict.fromkeys(citation.hit.chunk_id for citation in answer.citations))
    hits = {segment.hit.chunk_id: segment.hit for segment in answer.shown.segments}
    explanation = answer.retrieval.explanation
    optional: dict[str, Any] = asked_field(request)
    if answer.retrieval.context is not None:
        optional["context"] = answer.retrieval.context
    if answer.table is not None:
        optional["table"] = TableProofShape.model_validate(answer.table)
    if explanation is not None:
        claims = [claim_shape(claim) for claim in answer.claims]
        optional["debug"] = AskDebugShape(**debug_shape(explanation).model_dump(), claims=claims)
    return AskResponse(
        answer=answer.text,
        citations=[citation_shape(citation, request) for citation in answer.citations],
        references=[
            ReferenceShape(
                **placed(hit.key),
                heading_path=list(hit.chunk.heading_path),
                chunk_index=hit.chunk.ordinal,
                chunk_id=hit.chunk_id,
            )
            for hit in map(hits.get, cited or hits)
            if hit is not None
        ],
        references_basis="cited" if cited else "all",
        **shown_fields(answer.shown),
        sentences=[claim_shape(claim) for claim in answer.claims],
        unsupported=[
            UnsupportedShape(start=claim.start, end=claim.end, text=claim.text, reason=claim.reason or "words")
            for claim in answer.unsupported
        ],
        answers_question=AnswersQuestionShape.model_validate(answer.answers),
        closest=[closest_shape(passage) for passage in answer.closest],
        nearest=nearest_shapes(answer.retrieval.closest) if answer.abstain_reason else [],
        model=answer.model,
        usage=UsageShape.model_validate(answer),
        cost=answer.cost,
        finish_reason=answer.finish_reason,
        prompt_version=answer.prompt_version,
        answer_id=answer.id,
        bedrock=BedrockShape(citations=bedrock_citations(answer)),
        abstained=answer.abstain_reason is not None,
        abstain_reason=answer.abstain_reason,
        **optional,
        **{**condition, "warnings": [*condition["warnings"], *answer.warnings]},
    )


def asked_field(request: Request) -> dict[str, str]:
    """`asked`, where the route noted it."""
    asked = getattr(request.state, "asked", None)
    return {"asked": asked} if asked is not None else {}


def shown_fields(shown: Shown) -> dict[str, Any]:
    """`sources`, `linked_docs` and `excluded`: what the model was shown, critical first, and what it was not."""
    return {
        "sources": [
            shaped(SourceShape, document.facts, **placed(document.key), relevance_score=document.score)
            for document in shown.documents("critical", "relevant")
        ],
        "linked_docs": [
            shaped(
                LinkedSourceShape,
                source.document.facts,
                **placed(source.document.key),
                linked_from=source.linked_from,
                link_depth=getattr(source.document, "link_depth", None),
            )
            for source in shown.sources
            if source.group == "linked"
        ],
        "excluded": [ExcludedShape(**placed(out.key), reason=out.reason) for out in shown.excluded],
    }


def citation_shape(citation: Citation, request: Request) -> CitationShape:
    """A citation on the wire."""
    return with_url(CitationShape(**citation_fields(citation)), request)


def with_url(shape: CitationShape, request: Request) -> CitationShape:
    """*shape* with the address at which a browser shows the cited version in the web page, at the cited passage."""
    _tenant, _, place = shape.key.partition("/")
    version = quote(shape.version_id, safe="")
    url = f"{base_of(request)}/app#/documents/{quote(place)}?version={version}&span={shape.start}-{shape.end}"
    return shape.model_copy(update={"url": url})


def closest_shape(passage: ClosestPassage) -> ClosestShape:
    """A closest passage on the wire."""
    hit = passage.hit
    return shaped(
        ClosestShape,
        hit.facts,
        **placed(hit.key),
        key=hit.key.s3_key,
        heading_path=list(hit.chunk.heading_path),
        start=passage.start,
        end=passage.end,
        quote=passage.quote,
        score=passage.score,
        threshold=passage.threshold,
    )


def claim_shape(claim: CheckedSentence) -> ClaimShape:
    """A sentence as the API shows it."""
    return ClaimShape(**sentence_fields(claim))


def bedrock_citations(answer: Answer) -> list[dict[str, Any]]:
    """One entry a cited sentence that has evidence; `span` counts code points of the answer, `end` exclusive."""
    return [
        {
            "generatedResponsePart": {
                "textResponsePart": {"text": claim.text, "span": {"start": claim.start, "end": claim.end}}
            },
            "retrievedReferences": [
                bedrock_reference(each.hit, each.bucket, each.quote, each.start, each.end)
                for each in citations
                if each.status in STANDING
            ],
        }
        for claim, citations in cited_claims(answer)
        if claim.status in STANDING
    ]


def cited_claims(answer: Answer) -> Iterator[tuple[CheckedSentence, list[Citation]]]:
    """The claims that cite something, each with its citations: both lists are in the order of the answer."""
    left = iter(answer.citations)
    for claim in answer.claims:
        if claim.markers:
            yield claim, [citation for _, citation in zip(claim.markers, left, strict=False)]


def bedrock_reference(hit: Hit, bucket: str, text: str, start: int, end: int) -> dict[str, Any]:
    """A passage as Bedrock shows what it retrieved; its metadata has the names by which a search is filtered."""
    facts, uri = hit.facts, f"s3://{bucket}/{hit.key.s3_key}"
    metadata = {
        **{name: value for name, value in facts.attributes.items() if 0 < len(name) <= MAX_METADATA_KEY},
        "x-amz-bedrock-kb-source-uri": uri,
        "x-amz-bedrock-kb-chunk-id": hit.chunk_id,
        "x-amz-bedrock-kb-document-page-number": hit.chunk.page,
        "vault": hit.key.vault,
        "path": hit.key.path,
        **{name: getattr(facts, name) for name in ("title", "version_id", "doc_type", "content_type", "category")},
        **{name: getattr(facts, name) for name in ("session_id", "date", "promotion_level")},
        "tags": list(facts.tags) or None,
        "start": start,
        "end": end,
    }
    return {
        "content": {"type": "TEXT", "text": text},
        "location": {"type": "S3", "s3Location": {"uri": uri}},
        "metadata": {name: value for name, value in metadata.items() if value is not None},
    }


class SourceText(BaseModel):
    """A text that the answer may stand on, and the caller's name for it."""

    model_config = ConfigDict(extra="forbid", strict=True)

    id: Annotated[str, StringConstraints(min_length=1, max_length=900)] = Field(
        description="The caller's name for the source; no two have the same."
    )
    text: Annotated[str, StringConstraints(min_length=1)] = Field(
        max_length=MAX_SOURCE_CHARACTERS, description="Its text; 500,000 characters of all sources together."
    )


class VerifyRequest(BaseModel):
    """An answer, and the texts that it was written from; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", strict=True)

    answer: Annotated[str, StringConstraints(min_length=1, max_length=MAX_ANSWER_CHARACTERS)] = Field(
        description="The answer; its sentences may have markers: [2] names the second source.",
        examples=["The pump holds 7 litres [1]."],
    )
    sources: list[SourceText] = Field(min_length=1, max_length=MAX_SOURCES, description="What it may stand on.")
    question: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=1_000)] | None = Field(
        default=None, description="What it answers: `answers_question` then says whether it does."
    )

    @model_validator(mode="after")
    def _within_limits(self) -> VerifyRequest:
        if sum(len(source.text) for source in self.sources) > MAX_SOURCE_CHARACTERS:
            raise ValueError(f"the sources have more than {MAX_SOURCE_CHARACTERS:,} characters together")
        if len({source.id for source in self.sources}) < len(self.sources):
            raise ValueError("two sources have the same id")
        return self


class ProofShape(Spanned):
    """The passage that decided: code points `start` to `end` of the source's text."""

    source: str = Field(description="The id of the source that it stands in.")
    quote: Quote


class SentenceShape(Spanned):
    """A sentence of the answer and what its check gave: code points `start` to `end` of `answer`."""

    text: SentenceText
    status: SentenceStatus
    reason: ReasonOrNull
    support: SupportOrNull
    evidence: list[ProofShape] = Field(description="Passages that decided, by source.")
    table: TableProofShape | None = Field(description="How its number was computed from a table; null where none was.")


class Verification(BaseModel):
    """Each sentence of the answer, in order."""

    sentences: list[SentenceShape] = Field(description="Each sentence of the answer with its status.")
    answers_question: AnswersQuestionShape | None = Field(
        default=None, description="Whether it answers `question`; null without one."
    )
    warnings: Warnings
    latency_ms: LatencyMs


class VerifyResponse(Verification, Replied):
    """Each sentence of the answer, in order."""
