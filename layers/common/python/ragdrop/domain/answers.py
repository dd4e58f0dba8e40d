"""Questions, answers with their sources and citations, and receipts of answers, stored for 30 days."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from groundcheck import ClaimStatus
from ragdrop.domain.chunks import Hit
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.models import USED, ModelCall
from ragdrop.domain.receipt_chains import ChainLink
from ragdrop.domain.retrieval import AbstainReason, AnswerStyle, FoundDocument, LinkedDocument, Query, Retrieval
from ragdrop.domain.tenants import Caller

Group = Literal["critical", "relevant", "linked"]


def closest_text(passages: Sequence[tuple[str, str]]) -> str:
    """The names and quotes of the closest passages, for people who get an abstention; empty without passages."""
    if not passages:
        return ""
    lines = [f"> {' '.join(quote.split())}\n> ({name})" for name, quote in passages]
    return "\n\n".join(["Closest passages; nothing confirms that they answer:", *lines, OPEN])


OPEN = "Ask in other words, name what it is about, or set answer_anyway to get an answer from these."
WIDEN = "Ask in other words, name what it is about, or lower min_relevance to see more."


@dataclass(frozen=True, slots=True)
class Segment:
    """A chunk as shown to the model, with a number from 1.

    `repeated` counts the characters at its start that the segment before shows already.
    """

    number: int
    hit: Hit
    repeated: int = 0

    @property
    def text(self) -> str:
        """The part of the chunk that is shown."""
        return self.hit.chunk.text[self.repeated :].lstrip("\n") if self.repeated else self.hit.chunk.text


@dataclass(frozen=True, slots=True)
class Source:
    """A document as shown to the model, with its segments in the order of the text; `cut` if some are left out."""

    document: FoundDocument
    group: Group
    segments: tuple[Segment, ...]
    cut: bool = False

    @property
    def characters(self) -> int:
        """Characters of its text that are shown."""
        return sum(len(segment.text) for segment in self.segments)

    @property
    def linked_from(self) -> str | None:
        """The path of the document whose link led to this one."""
        return self.document.linked_from.vault_path if isinstance(self.document, LinkedDocument) else None


@dataclass(frozen=True, slots=True)
class Citation:
    """The evidence of one sentence: `quote` is code points `start` to `end` of the parsed text of that version.

    `attributed`: the model did not cite it, the check found it among the sources.
    """

    marker: int
    bucket: str
    hit: Hit
    start: int
    end: int
    quote: str
    chunk_hash: str
    support: float
    status: ClaimStatus
    attributed: bool = False


@dataclass(frozen=True, slots=True)
class Excluded:
    """A document that was found but is not, or not whole, shown to the model, and why."""

    key: DocumentKey
    reason: str


@dataclass(frozen=True, slots=True)
class Shown:
    """The sources shown to the model, in the order of the prompt, and the documents left out or cut."""

    sources: list[Source] = field(default_factory=list)
    excluded: list[Excluded] = field(default_factory=list)

    @property
    def segments(self) -> list[Segment]:
        """All segments, by number."""
        return [segment for source in self.sources for segment in source.segments]

    def documents(self, *groups: Group) -> list[FoundDocument]:
        """The documents of *groups*, of all groups if none is named."""
        return [source.document for source in self.sources if not groups or source.group in groups]


@dataclass(frozen=True, slots=True)
class CheckedSentence:
    """A sentence of an answer: code points `start` to `end` of the answer's text, and the result of its check.

    `reason` and `support` are those of `groundcheck.Checked`; `unknown_marker` is a reason too.  `attributed`: the
    model set no marker, and its evidence was found all the same.  `untrusted`: only untrusted vaults support it.
    """

    start: int
    end: int
    text: str
    status: ClaimStatus
    markers: tuple[int, ...] = ()
    reason: str | None = None
    support: float | None = None
    attributed: bool = False
    untrusted: bool = False


@dataclass(frozen=True, slots=True)
class AnswersQuestion:
    """Whether an answer answers its question, which is another thing than whether it is true.

    `reason` is what it lacks (`no_number`, `no_name`, `repeats_question`), `reader` where the reader takes it for no
    answer, or why nothing is known.  `score` is a probability and `threshold` what it is compared with: `no` is by the
    reader's of the answer alone, `yes` and `unsure` by those of the passages too, where these were read.
    """

    status: Literal["yes", "unsure", "no", "unchecked"] = "unchecked"
    reason: str | None = None
    score: float | None = None
    threshold: float | None = None


@dataclass(frozen=True, slots=True)
class ClosestPassage:
    """A passage that came nearest to answering: `quote` is code points `start` to `end` of its document's parsed text.

    Nothing confirms that it answers.  `score` is the probability that it may, by what the reader read, and `threshold`
    what the best one's is compared with before a model is asked; None where none read it.
    """

    hit: Hit
    start: int
    end: int
    quote: str
    score: float | None
    threshold: float | None = None


@dataclass(frozen=True, slots=True)
class TableProof:
    """Where a computed answer comes from: `number` is a decimal number as text, None where the answer is a list.

    `range` is the table without its header, `cells` those that were read, at most 1,000, such as `Budget!B2`.
    `rows_used` of `rows_total` rows, totals not counted, gave `value` by `expression`.  `planned_by` is the model that
    proposed the plan, None where the words of the question made it.
    """

    value: str
    number: str | None
    path: str
    range: str
    cells: tuple[str, ...]
    rows_used: int
    rows_total: int
    expression: str
    planned_by: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of `/ask`; `text` is always a sentence, also for an abstention.

    `answers` says whether it answers; `closest` are the passages to show where there is no answer.

    `warnings` are those of the answer without the retrieval's; `cost` is in the currency of the price table, None if
    the model has no price; `timings_ms` are those of the answer's stages.
    """

    text: str
    retrieval: Retrieval
    prompt_version: str
    citations: list[Citation] = field(default_factory=list)
    claims: list[CheckedSentence] = field(default_factory=list)
    shown: Shown = field(default_factory=Shown)
    warnings: list[str] = field(default_factory=list)
    abstain_reason: AbstainReason | None = None
    answers: AnswersQuestion = AnswersQuestion()
    closest: list[ClosestPassage] = field(default_factory=list)
    model: str | None = None
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    embedding_tokens: int | None = None
    reader_pairs: int = 0
    reader_ms: float = 0.0
    cost: float | None = None
    id: str | None = None
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    table: TableProof | None = None  # of an answer that was computed

    @property
    def unsupported(self) -> list[CheckedSentence]:
        """The claims that their sources contradict or do not support; spans are of `text`."""
        return [claim for claim in self.claims if claim.status in {"unsupported", "contradicted"}]


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a conversation; `role` is user or assistant."""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """A query, and how to answer it; None leaves it to the settings.

    `max_context_tokens` is for the whole context; `calls` of a chat model condensed the question of a conversation.
    `answer_anyway` asks for an answer from what is nearest, whether or not it seems to answer.  `turns` are what the
    question follows up, the oldest first; empty where it stands alone.  `answer_id` is that of its receipt, where it
    must be known before there is an answer.  `typed` is the question as it was put, where a conversation completed it.
    """

    query: Query
    style: AnswerStyle | None = None
    model: str | None = None
    system_prompt: str | None = None
    prompt_template: str | None = None
    max_context_tokens: int | None = None
    answer_anyway: bool = False
    calls: tuple[ModelCall, ...] = ()
    turns: tuple[Turn, ...] = ()
    answer_id: str | None = None
    typed: str | None = None


RECEIPT_AGE_S = 30 * 86_400
MAX_RECEIPT_BYTES = 380_000  # of JSON: a DynamoDB item holds 400 KB with its names
MAX_LISTED = 100  # chunks of a receipt that was too large
MAX_QUOTE = 300  # characters of a quote in it
MAX_ANSWER = 40_000  # characters of the answer in it: 160 KB at most

FeedbackKind = Literal["right", "wrong", "missing"]


@dataclass(frozen=True, slots=True)
class Feedback:
    """A caller's verdict on an answer, and the caller's words; `at` is RFC 3339."""

    kind: FeedbackKind
    text: str
    at: str


@dataclass(frozen=True, slots=True)
class Receipt:
    """The record of one answer."""

    id: str  # 32 hexadecimal digits, in the order of time
    tenant: str
    vaults: tuple[str, ...]  # the scope of the key that asked; empty means all
    documents: tuple[DocumentKey, ...]  # all documents that the body names: a purge of any of them removes the receipt
    expires_at_s: int  # seconds since 1970
    body: Mapping[str, Any]  # JSON, as `GET /answers/{id}` returns it
    feedback: Mapping[str, Feedback] = field(default_factory=dict)  # the latest verdict of each credential
    credential: str = ""  # whose answer it is; empty in receipts of older versions
    link: ChainLink | None = None  # None in receipts of older versions
    purged: bool = False  # only the link is left

    def visible_to(self, caller: Caller) -> bool:
        """Whether *caller* may read it: it is of the caller's tenant, and all of it is in the key's vaults.

        A receipt without documents still has the question: then the key that asked must not have had a wider scope, nor
        groups that the caller has not.  Whether all its documents may be read, the registry says.

        >>> receipt = Receipt("a", "acme", (), (DocumentKey("acme", "team", "a.md"),), 0, {})
        >>> [receipt.visible_to(Caller("acme", "reader", vaults)) for vaults in ((), ("team",), ("hr",))]
        [True, True, False]
        """
        if self.tenant != caller.tenant or not (self.documents or self._was_asked_with(caller)):
            return False
        if not caller.vaults:
            return True
        vaults = {key.vault for key in self.documents} or set(self.vaults)
        return bool(vaults) and all(caller.may_see(vault) for vault in vaults)

    def _was_asked_with(self, caller: Caller) -> bool:
        """Whether *caller* has all rights by which it was asked."""
        as_admin = self.body.get("asked_as") == "admin"
        return caller.reads_all or not (as_admin or set(self.body.get("groups", ())) - set(caller.groups))


MAX_ANSWERS = 100  # of a thread
MAX_NAME = 120  # characters


@dataclass(frozen=True, slots=True)
class Thread:
    """Questions that follow one another.  It names the receipts of their answers and repeats nothing of them."""

    id: str  # 48 hexadecimal digits, the first 16 by its owner
    tenant: str
    owner: str  # the credential that began it
    name: str  # as its owner calls it, else its first question, at most 120 characters
    named: bool  # whether its owner called it so
    shared: bool  # whether others of the tenant may open it by its id
    answers: tuple[str, ...]  # ids of receipts, the oldest first
    created_at: str  # RFC 3339
    updated_at: str
    expires_at_s: int  # when its last receipt expires


def threads_prefix(owner: str) -> str:
    """How the ids of all threads of a credential begin.

    >>> len(threads_prefix("99f3"))
    16
    """
    return hashlib.sha256(owner.encode(errors="replace")).hexdigest()[:16]


def citation_fields(citation: Citation) -> dict[str, Any]:
    """A citation by the names of the API."""
    hit = citation.hit
    return {
        "marker": citation.marker,
        "bucket": citation.bucket,
        "key": hit.key.s3_key,
        "version_id": hit.facts.version_id,
        "path": hit.key.path,
        "start": citation.start,
        "end": citation.end,
        "quote": citation.quote,
        "page": hit.chunk.page_at(citation.start, citation.end),
        "place": hit.chunk.place_at(citation.start, citation.end),
        "heading_path": list(hit.chunk.heading_path),
        "chunk_id": hit.chunk_id,
        "chunk_hash": citation.chunk_hash,
        "support": citation.support,
        "status": citation.status,
        "attributed": citation.attributed,
    }


def sentence_fields(claim: CheckedSentence) -> dict[str, Any]:
    """A checked sentence by the names of the API."""
    return {
        "start": claim.start,
        "end": claim.end,
        "text": claim.text,
        "status": claim.status,
        "reason": claim.reason,
        "support": claim.support,
        "markers": list(claim.markers),
        "attributed": claim.attributed,
        "untrusted": claim.untrusted,
    }


def answer_fields(answer: Answer) -> dict[str, Any]:
    """An answer by the names of the API, for a receipt: of the text of documents only the quotes."""
    retrieval = answer.retrieval
    return {
        "answer": answer.text,
        "abstained": answer.abstain_reason is not None,
        "abstain_reason": answer.abstain_reason,
        "answers_question": asdict(answer.answers),
        "citations": [citation_fields(citation) for citation in answer.citations],
        "sentences": [sentence_fields(claim) for claim in answer.claims],
        "unsupported": [
            {"start": claim.start, "end": claim.end, "text": claim.text, "reason": claim.reason or "words"}
            for claim in answer.unsupported
        ],
        "documents": [_document(document, group) for group, document in _found(answer)],
        "retrieved": _retrieved(answer),
        "model": answer.model,
        "finish_reason": answer.finish_reason,
        "prompt_version": answer.prompt_version or None,
        "usage": {name: getattr(answer, name) for name in USED},
        "cost": answer.cost,
        "fallback_level": retrieval.fallback_level,
        "degraded": retrieval.degraded,
        "warnings": [*retrieval.warnings, *answer.warnings],
        **({} if answer.table is None else {"table": asdict(answer.table)}),
    }


def documents_of_answer(answer: Answer) -> tuple[DocumentKey, ...]:
    """Every document that `answer_fields` names, once."""
    return tuple(dict.fromkeys(document.key for _, document in _found(answer)))


def shortened(body: Mapping[str, Any], *, max_bytes: int = MAX_RECEIPT_BYTES) -> dict[str, Any]:
    """*body* with `shortened` false, or true and shorter lists and texts if its JSON is over *max_bytes* bytes.

    Chunks beyond the first hundred and ends of quotes go first, then the end of the answer and its sentences, then all
    citations and chunks.

    >>> shortened({"answer": "yes", "retrieved": []})
    {'answer': 'yes', 'retrieved': [], 'shortened': False}
    """
    short = {**body, "shortened": False}
    if _size(short) <= max_bytes:
        return short
    quotes = [{**each, "quote": each["quote"][:MAX_QUOTE]} for each in body.get("citations", [])]
    short |= {"shortened": True, "retrieved": body.get("retrieved", [])[:MAX_LISTED], "citations": quotes}
    if _size(short) > max_bytes:
        short |= {"sentences": None, "unsupported": [], "answer": str(body.get("answer", ""))[:MAX_ANSWER]}
    if _size(short) > max_bytes:
        short |= {"citations": [], "retrieved": [], "documents": body.get("documents", [])[:MAX_LISTED]}
    return short


def _size(body: Mapping[str, Any]) -> int:
    return len(json.dumps(body, ensure_ascii=False).encode(errors="replace"))


def _found(answer: Answer) -> list[tuple[str, FoundDocument]]:
    """The documents found, each once, with their groups, in the prompt's order of groups."""
    retrieval = answer.retrieval
    groups = (("critical", retrieval.critical), ("relevant", retrieval.documents), ("linked", retrieval.linked))
    seen: dict[DocumentKey, tuple[str, FoundDocument]] = {}
    for group, documents in groups:
        for document in documents:
            seen.setdefault(document.key, (group, document))
    return list(seen.values())


def _document(document: FoundDocument, group: str) -> dict[str, Any]:
    return {
        "vault": document.key.vault,
        "path": document.key.path,
        "key": document.key.s3_key,
        "version_id": document.facts.version_id,
        "group": group,
        "raw_score": document.raw_score,
        "score": document.score,
    }


def _retrieved(answer: Answer) -> list[dict[str, Any]]:
    """The chunks shown to the model, by number, then those that had no room."""
    found = {chunk.hit.chunk_id: chunk for _, document in _found(answer) for chunk in document.chunks}
    shown = {segment.hit.chunk_id: segment for segment in answer.shown.segments}
    hits = {chunk_id: segment.hit for chunk_id, segment in shown.items()}
    hits |= {chunk_id: chunk.hit for chunk_id, chunk in found.items() if chunk_id not in hits}
    return [
        _chunk(hit, shown[chunk_id].number if chunk_id in shown else None)
        | {"score": found[chunk_id].score if chunk_id in found else None}
        for chunk_id, hit in hits.items()
    ]


def _chunk(hit: Hit, number: int | None) -> dict[str, Any]:
    return {
        "chunk_id": hit.chunk_id,
        "chunk_hash": hashlib.sha256(hit.chunk.text.encode()).hexdigest(),
        "key": hit.key.s3_key,
        "version_id": hit.facts.version_id,
        "start": hit.chunk.start,
        "end": hit.chunk.end,
        "marker": number,
    }
