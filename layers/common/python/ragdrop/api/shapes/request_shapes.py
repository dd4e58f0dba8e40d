"""Requests of search: every field of docs/api.md, strictly typed, unknown fields refused."""

from __future__ import annotations

import dataclasses
import datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator

from ragdrop.domain.documents import ContentType, PromotionLevel, in_lower_case, written
from ragdrop.domain.keys import NAME_PATTERN
from ragdrop.domain.retrieval import DetailLevel, Expand, Mode, Query

MAX_NAMES = 100


def _many(value: object) -> object:
    """One word is a list of one: the values of a field are ORed."""
    return [value] if isinstance(value, str) else value


def _each_lowered(value: object) -> object:
    many = _many(value)
    return [in_lower_case(each) for each in many] if isinstance(many, list) else many


def _moment(value: str) -> str:
    """A day as it is; a time in the form that documents' dates are stored in, so that both compare as text.

    >>> _moment("2026-01-31"), _moment("2026-01-31T10:00:00Z")
    ('2026-01-31', '2026-01-31T10:00:00+00:00')
    """
    try:
        if len(value) == len("2026-01-31"):
            return datetime.date.fromisoformat(value).isoformat()
        return datetime.datetime.fromisoformat(value).isoformat()
    except ValueError:
        raise ValueError("a day (2026-01-31) or a time (2026-01-31T10:00:00Z) of RFC 3339 is expected") from None


Plain = str | int | float | bool


def _plain(value: dict[str, Plain | list[Plain]]) -> dict[str, Plain | list[Plain]]:
    each = [text for named in value.values() for text in (named if isinstance(named, list) else [named])]
    if any(not 0 < len(name) <= 1_000 for name in value) or any(len(str(text)) > 1_000 for text in each):
        raise ValueError("names have 1 to 1,000 characters, values at most 1,000")
    if any(named == [] or (isinstance(named, list) and len(named) > MAX_NAMES) for named in value.values()):
        raise ValueError(f"a list of alternatives has 1 to {MAX_NAMES} values")
    return value


QueryText = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=1_000),
    Field(
        description="The question, 1 to 1,000 characters after trimming.", examples=["How long are backups available?"]
    ),
]
Name = Annotated[str, StringConstraints(min_length=1, max_length=900)]
Word = Annotated[str, StringConstraints(min_length=1, max_length=1_000)]
Words = Annotated[list[Word], BeforeValidator(_many), Field(max_length=MAX_NAMES)]
Prompt = Annotated[str, StringConstraints(min_length=1, max_length=20_000)]
Moment = Annotated[
    str,
    StringConstraints(max_length=40),
    AfterValidator(_moment),
    Field(json_schema_extra={"pattern": r"^\d{4}-\d{2}-\d{2}(T.+)?$"}, examples=["2026-01-31"]),
]
Attributes = Annotated[dict[str, Plain | list[Plain]], Field(max_length=20), AfterValidator(_plain)]


class ExcludedValues(BaseModel):
    """What documents must not have: any of these values."""

    model_config = ConfigDict(extra="forbid", strict=True)

    folders: list[Name] = Field(default=[], max_length=MAX_NAMES, description="Documents in these folders.")
    doc_types: Words = Field(default=[], description="Documents of these types.")
    content_type: Words = Field(default=[], description="Documents of these kinds.")
    category: Words = Field(default=[], description="Documents of these categories.")
    tags: Words = Field(default=[], description="Documents with one of these tags.")
    session_id: Words = Field(default=[], description="Documents of these sessions.")
    attributes: Attributes = Field(default={}, description="Documents with one of these values.")


class SearchRequest(BaseModel):
    """A question to the documents; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", strict=True)

    query: QueryText
    vaults: list[Name] = Field(default=[], max_length=MAX_NAMES, description="Only these vaults; empty means all.")
    folders: list[Name] = Field(
        default=[], max_length=MAX_NAMES, description="Only these folders: `a/b` or `vault/a/b`, on segment boundaries."
    )
    prefer_folders: list[Name] = Field(
        default=[],
        max_length=10,
        description="These folders first, weights 1.0, 0.9 … 0.1: they change the order only.",
    )
    rank_folders: bool = Field(default=False, description="The chat model ranks the remaining folders behind these.")
    rerank: bool = Field(
        default=False, description="The reader orders the first results; `reranking` says whether. `/ask` always reads."
    )
    limit: int | None = Field(
        default=None, ge=1, le=20, description="Documents, 1 to 20; without it 3 to 10, by question and results."
    )
    detail: DetailLevel = Field(default="normal", description="How much is requested; moves the automatic limit.")
    mode: Mode = Field(default="normal", description="`fast`: limit 3, no links, no folder ranking, cached.")
    min_relevance: float | None = Field(
        default=None, ge=0, le=1, description="On the calibrated scale; 0.7 unless settings say otherwise."
    )
    doc_types: Words = Field(default=[], description="Only documents of these types.")
    content_type: Annotated[list[ContentType], BeforeValidator(_each_lowered)] = Field(
        default=[], max_length=4, description="Only chat, decision, code or documentation."
    )
    category: Words = Field(default=[], description="Only these categories.")
    tags: Words = Field(default=[], description="Only documents with one of these tags.")
    session_id: Words = Field(default=[], description="Only documents of these sessions.")
    date_from: Moment | None = Field(default=None, description="Only documents dated then or later.")
    date_to: Moment | None = Field(default=None, description="Only documents dated then or earlier; a day is whole.")
    attributes: Attributes = Field(default={}, description="Only documents with exactly these values; a list is ORed.")
    exclude: ExcludedValues | None = Field(default=None, description="No documents with one of these values.")
    min_promotion_level: Annotated[PromotionLevel | None, BeforeValidator(in_lower_case)] = Field(
        default=None, description="Only this level and those above it."
    )
    include_critical: bool = Field(default=True, description="Put the critical documents in scope first.")
    follow_links: bool = Field(default=True, description="Follow the links of what was found.")
    apply_boosting: bool = Field(default=True, description="Important and critical documents rise.")
    max_linked_docs: int | None = Field(default=None, ge=0, le=20, description="Linked documents; 0 follows none.")
    max_link_depth: int | None = Field(
        default=None, ge=0, le=5, description="How far links are followed; 0 not at all."
    )
    expand: Expand = Field(
        default="auto",
        description="What `text` is: whole documents of up to 500 lines, else neighbours (`auto`); or always one.",
    )
    session: Annotated[str, StringConstraints(min_length=1, max_length=200)] | None = Field(
        default=None, description="Links are not followed twice in one session; no filter (that is `session_id`)."
    )
    include_context: bool = Field(default=False, description="Add `context`, the text for a model of your own.")
    allow_fallback: bool = Field(default=True, description="false: an outage is an error, not a degraded answer.")
    agent: Annotated[str, StringConstraints(min_length=1, max_length=100)] | None = Field(
        default=None, description="Who asks: a label for metrics."
    )
    as_of: Annotated[str, StringConstraints(min_length=1, max_length=60)] | None = Field(
        default=None,
        description="What the documents said then: RFC 3339 with its offset, within 30 days.",
        examples=["2026-01-31T10:00:00Z"],
    )
    stage: Annotated[str, StringConstraints(pattern=f"^{NAME_PATTERN.pattern}$")] | None = Field(
        default=None, description="What the documents would say if this stage were promoted; not with `as_of`."
    )
    debug: bool = Field(default=False, description="Add `debug`: every candidate, and why it was returned or dropped.")

    @model_validator(mode="after")
    def _in_order(self) -> SearchRequest:
        if self.date_from and self.date_to and self.date_from[:10] > self.date_to[:10]:
            raise ValueError("date_from is after date_to")
        if self.as_of and self.stage:
            raise ValueError("as_of and stage exclude each other")
        return self


def query_of(body: SearchRequest) -> Query:
    """The domain's query of a request."""
    names = {each.name for each in dataclasses.fields(Query)}
    same: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in body if name in names
    }
    same["attributes"] = _as_written(body.attributes)
    same["exclude"] = {name: value for name, value in body.exclude or () if value}
    if "attributes" in same["exclude"]:
        same["exclude"]["attributes"] = _as_written(same["exclude"]["attributes"])
    return Query(
        **same,
        text=body.query,
        content_types=tuple(body.content_type),
        categories=tuple(body.category),
        session_ids=tuple(body.session_id),
    )


def _as_written(attributes: dict[str, Plain | list[Plain]]) -> dict[str, str | tuple[str, ...]]:
    return {
        name: tuple(map(written, value)) if isinstance(value, list) else written(value)
        for name, value in attributes.items()
    }
