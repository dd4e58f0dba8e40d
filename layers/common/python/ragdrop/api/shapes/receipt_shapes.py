"""What `/answers` and `/feedback` take and reply (docs/api.md)."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from ragdrop.api.shapes.answer_shapes import (
    AnswersQuestionShape,
    AnswerText,
    ChatModelName,
    Citations,
    ClaimShape,
    Cost,
    FinishReason,
    Unsupported,
    Usage,
)
from ragdrop.api.shapes.fields import (
    Abstained,
    AnswerId,
    At,
    ChunkHash,
    ChunkId,
    Cursor,
    Keyed,
    Question,
    Replied,
    Score,
    Spanned,
    VersionId,
    Warnings,
)
from ragdrop.domain.answers import FeedbackKind, Receipt
from ragdrop.domain.receipt_chains import canonical
from ragdrop.domain.tenants import Caller

MAX_FEEDBACK_CHARACTERS = 2_000


class ReceiptDocument(Keyed):
    """A document that was found, and its version then."""

    version_id: VersionId
    group: Literal["critical", "relevant", "linked"] = Field(description="Whether it was critical, relevant or linked.")
    raw_score: float | None = Field(description="Relevance in [0, 1], without the boost.")
    score: Score


class RetrievedChunk(Spanned):
    """A chunk that was found: code points `start` to `end` of that version's parsed text have that SHA-256.

    `marker` is the number under which the model was shown it, null where it was not.
    """

    chunk_id: ChunkId
    chunk_hash: ChunkHash
    key: str = Field(description="The document's key in the bucket: `tenant/vault/path`.")
    version_id: VersionId
    marker: int | None = Field(description="The [n] in the answer, from 1 in the order of the text.")
    score: Score


class FeedbackShape(BaseModel):
    """What a caller said of an answer."""

    kind: FeedbackKind = Field(description="`right`, `wrong`, or `missing` where the documents had more to say.")
    text: str = Field(description="In the caller's own words; empty for none.")
    at: At
    own: bool = Field(description="Whether it is of the key that asks.")


class ChainLinkShape(BaseModel):
    """Where a receipt stands in the chain of the environment that wrote it."""

    chain: str = Field(description="The chain: 32 hexadecimal digits.")
    number: int = Field(description="Its number in the chain, from 1.")
    content: str = Field(description="SHA-256 of the receipt's canonical JSON.")
    previous: str | None = Field(description="The digest of the link before, null in the first.")
    digest: str = Field(description="SHA-256 of the link, which the next one names.")


class ReceiptShape(Replied):
    """What an answer was asked, said and stood on."""

    answer_id: AnswerId
    created_at: str = Field(description="When the answer was given.")
    expires_at: str = Field(description="Until when the receipt is stored.")
    question: Question
    typed: str | None = Field(
        default=None,
        description="The question as it was put, where the conversation before it completed it; else null.",
    )
    request: dict[str, Any] = Field(description="The fields that were given, but those at their defaults.")
    request_left_out: list[str] = Field(description="Prompts of the request, whose text is not stored.")
    answer: AnswerText
    abstained: Abstained
    abstain_reason: str | None = Field(description="Why it abstained; null where it did not.")
    answers_question: AnswersQuestionShape | None = Field(
        default=None, description="Whether it answers the question; null in receipts of older versions."
    )
    citations: Citations
    sentences: list[ClaimShape] | None = Field(
        default=None, description="Every sentence with its status; null in receipts of older versions."
    )
    unsupported: Unsupported
    documents: list[ReceiptDocument] = Field(description="Documents that were found.")
    retrieved: list[RetrievedChunk] = Field(description="Chunks that were found.")
    model: ChatModelName
    finish_reason: FinishReason
    prompt_version: str | None = Field(description="The version of the prompt.")
    prompt_sha256: str | None = Field(description="Of the messages that the model got, whose text is not stored.")
    usage: Usage
    cost: Cost
    fallback_level: int = Field(description="1 all is well, 2 degraded, 3 nothing could be searched, 4 nor was tried.")
    degraded: bool = Field(description="Whether something that was asked for is missing; `warnings` say what.")
    warnings: Warnings
    timings_ms: dict[str, float] = Field(description="Milliseconds by stage.")
    asked_as: Literal["admin", "groups"] | None = Field(
        default=None,
        description="Whether an admin asked, who reads every document, or a caller of `groups`; null in older ones.",
    )
    groups: list[str] = Field(default=[], description="Groups of the caller who asked.")
    shortened: bool = Field(description="Whether it was too large to be stored whole.")
    link: ChainLinkShape | None = Field(
        default=None, description="Its place in a chain of receipts; null in receipts of older versions."
    )
    feedback: list[FeedbackShape] = Field(description="What callers said of it, the last word of each key.")


class FeedbackRequest(BaseModel):
    """What is said of an answer."""

    model_config = ConfigDict(extra="forbid", strict=True)

    kind: FeedbackKind = Field(description="`right`, `wrong`, or `missing` where the documents had more to say.")
    text: str = Field(
        default="",
        max_length=MAX_FEEDBACK_CHARACTERS,
        description="In your own words, such as which document has the answer.",
    )


class FeedbackResponse(Replied):
    """What was stored."""

    answer_id: AnswerId
    kind: FeedbackKind = Field(description="`right`, `wrong`, or `missing` where the documents had more to say.")
    text: str = Field(description="In the caller's own words; empty for none.")
    at: At


class JudgedAnswer(BaseModel):
    """An answer that has feedback, and what it stood on."""

    answer_id: AnswerId
    created_at: str = Field(description="When the answer was given.")
    question: Question
    abstained: Abstained
    cited: list[str] = Field(description="`vault/path` of each document that the answer cites.")
    found: list[str] = Field(description="`vault/path` of each document that was found.")
    feedback: list[FeedbackShape] = Field(description="What callers said of it, the last word of each key.")


class FeedbackPage(Replied):
    """Answers that have feedback."""

    answers: list[JudgedAnswer] = Field(description="Answers that have feedback, by id.")
    cursor: Cursor


class AuditedReceipt(BaseModel):
    """A receipt as an audit needs it: to the byte."""

    answer_id: AnswerId
    link: str = Field(description="Its link as canonical JSON; the SHA-256 of this text is the digest.")
    record: str | None = Field(
        description="The receipt as canonical JSON, whose SHA-256 the link names; null where a purge removed it."
    )


class AuditPage(Replied):
    """Receipts with their links."""

    tenant: str = Field(description="Whose receipts they are.")
    at: At
    receipts: list[AuditedReceipt] = Field(description="Receipts in the order of time.")
    cursor: Cursor


def link_shape(receipt: Receipt) -> ChainLinkShape | None:
    """The link of a receipt, if it has one."""
    link = receipt.link
    if link is None:
        return None
    return ChainLinkShape(
        chain=link.chain, number=link.number, content=link.content, previous=link.previous, digest=link.digest
    )


def audited_receipts(found: Sequence[Receipt]) -> list[AuditedReceipt]:
    """Receipts with links, of purged ones the link alone."""
    return [
        AuditedReceipt(answer_id=each.id, link=each.link.text, record=None if each.purged else canonical(each.body))
        for each in found
        if each.link is not None
    ]


def feedback_shapes(receipt: Receipt, who: Caller) -> list[FeedbackShape]:
    """What callers said of an answer, in the order of time."""
    said = sorted(receipt.feedback.items(), key=lambda each: each[1].at)
    return [FeedbackShape(**asdict(each), own=credential == who.credential) for credential, each in said]


def judged_answer(receipt: Receipt, who: Caller) -> JudgedAnswer:
    """An answer in the list of those that have feedback."""
    body = receipt.body
    cited, found = (
        list(dict.fromkeys(each["key"].partition("/")[2] for each in body[name])) for name in ("citations", "documents")
    )
    known = {name: body[name] for name in ("answer_id", "created_at", "question", "abstained")}
    return JudgedAnswer(**known, cited=cited, found=found, feedback=feedback_shapes(receipt, who))
