"""Fields that many models have, and the address that links in them begin with."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ragdrop.domain.keys import DocumentKey

if TYPE_CHECKING:
    from starlette.requests import Request

Shape = TypeVar("Shape", bound=BaseModel)

VersionId = Annotated[str, Field(description="The S3 version that this is about.")]
VersionIdOrNull = Annotated[str | None, Field(description="The S3 version that this is about.")]
Title = Annotated[str, Field(description="As stated, else the first heading, else the file's name.")]
Summary = Annotated[str | None, Field(description="As the document states it.")]
Text = Annotated[str, Field(description="Text, as the parsed document has it.")]
CharCount = Annotated[int, Field(description="Code points of the parsed text.")]
SizeBytes = Annotated[int | None, Field(description="Bytes of the object.")]
HeadingPath = Annotated[list[str], Field(description="The headings that it stands under, outermost first.")]
Page = Annotated[int | None, Field(description="The page or slide, of documents that have pages.")]
PlaceInDocument = Annotated[
    str | None,
    Field(
        description="The part of the document in words: `page 3`, `slide 4, notes`, `Budget!A2:F9`; "
        "null where it has none."
    ),
]
ChunkId = Annotated[str, Field(description="The chunk's id.")]
ChunkHash = Annotated[str, Field(description="SHA-256 of the chunk's text.")]
ChunkIndex = Annotated[int, Field(description="Its place among the document's chunks, from 0.")]
Score = Annotated[
    float | None, Field(description="Relevance in [0, 1], with the boost of important and critical documents.")
]
At = Annotated[str, Field(description="When.")]
Question = Annotated[str, Field(description="The question.")]
AnswerId = Annotated[str, Field(description="The id of an answer, as `POST /ask` gave it.")]
Abstained = Annotated[bool, Field(description="Whether the documents do not answer the question.")]
Warnings = Annotated[list[str], Field(description="What was left out or done otherwise, in words.")]
AnswerAnyway = Annotated[bool, Field(description="Answer from what is closest, even where nothing seems to answer.")]
LatencyMs = Annotated[float, Field(description="Milliseconds that it took.")]
LatencyMsOrNull = Annotated[float | None, Field(description="Milliseconds that it took.")]
Cursor = Annotated[str | None, Field(description="Asks for the next page; null ends the list.")]


class Replied(BaseModel):
    """A whole reply."""

    request_id: str = Field(description="Names this request in logs; the echo of `X-Request-Id`.")


class InVault(BaseModel):
    """Something in a vault."""

    vault: str = Field(description="The vault that it lies in.")


class Placed(InVault):
    """A document by its place."""

    path: str = Field(description="The document's path in its vault.")


class Keyed(Placed):
    """A document by its place and its key in the bucket."""

    key: str = Field(description="The document's key in the bucket: `tenant/vault/path`.")


class Spanned(BaseModel):
    """A passage."""

    start: int = Field(description="The first code point.")
    end: int = Field(description="The code point after the last one.")


IGNORED_HEADER = "x-ragdrop-ignored"
MOST_IGNORED = 20  # fields that are named in the header
_FIELD = re.compile(r"[\w.\-]{1,200}", re.ASCII)


_OF_PROPERTY = {"title", "description", "default", "examples"}  # words of a schema that are not about its values


def _or_null(schema: dict[str, Any]) -> None:
    """Let the optional properties of *schema* be null."""
    for name, each in schema.get("properties", {}).items():
        kinds = each.pop("anyOf", None) or [{word: each.pop(word) for word in [*each] if word not in _OF_PROPERTY}]
        null = [] if name in schema.get("required", ()) or {"type": "null"} in kinds else [{"type": "null"}]
        each.update({"anyOf": [*kinds, *null]} if len(kinds) + len(null) > 1 else kinds[0])


class NullIsAbsent(BaseModel):
    """What clients send; null for an optional field means the same as to leave it out."""

    model_config = ConfigDict(json_schema_extra=_or_null)
    absent: ClassVar[tuple[object, ...]] = (None,)

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        fields = [(name, field.alias) for name, field in cls.model_fields.items() if not field.is_required()]
        optional = {each for names in fields for each in names}
        return {name: value for name, value in given.items() if value not in cls.absent or name not in optional}


def whole_characters(value: Any) -> Any:
    r"""*value* of JSON with a question mark for each half of a surrogate pair: clients cut texts within an emoji.

    >>> whole_characters({"text": ["red \ud83d", "\u2603", 1]})
    {'text': ['red ?', '☃', 1]}
    """
    if isinstance(value, str):
        return value if value.isascii() else value.encode(errors="replace").decode()
    if isinstance(value, list):
        return [whole_characters(each) for each in value]
    return (
        {whole_characters(name): whole_characters(each) for name, each in value.items()}
        if isinstance(value, dict)
        else value
    )


class Tolerant(NullIsAbsent):
    """A request of another protocol: fields that are not named here are ignored, and a header names them."""

    model_config = ConfigDict(extra="allow", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _of_whole_characters(cls, given: Any) -> Any:
        try:
            return whole_characters(given)
        except RecursionError:
            raise ValueError("objects and lists stand in one another too deep") from None

    def ignored(self, place: str = "") -> Iterator[str]:
        """The fields that were given and are not read, by the names of the protocol."""
        yield from (place + name for name in self.model_extra or ())
        for name, field in type(self).model_fields.items():
            value = getattr(self, name)
            for each in value if isinstance(value, list) else [value]:
                if isinstance(each, Tolerant):
                    yield from each.ignored(f"{place}{field.alias or name}.")


def ignored_header(body: Tolerant) -> dict[str, str]:
    """The header that names what was given and is not read; nothing where all is read.

    >>> ignored_header(Tolerant(temperature=0.5, user="ann"))
    {'x-ragdrop-ignored': 'temperature, user'}
    """
    names = [name for name in dict.fromkeys(body.ignored()) if _FIELD.fullmatch(name)]
    return {IGNORED_HEADER: ", ".join(names[:MOST_IGNORED])} if names else {}


def shaped(shape: type[Shape], found: object, **more: Any) -> Shape:
    """A *shape* with what *found* has under the names of its fields, and *more*, which wins."""
    same = {name: getattr(found, name) for name in shape.model_fields if name not in more and hasattr(found, name)}
    return shape(**same, **more)


def placed(key: DocumentKey) -> dict[str, Any]:
    """The fields of Placed."""
    return {"vault": key.vault, "path": key.path}


def base_of(request: Request) -> str:
    """The address of the API as the caller of *request* reaches it, with its stage, without a slash at the end."""
    event = request.scope.get("aws.event") or {}
    context = event.get("requestContext") or {}
    base = str(request.base_url).rstrip("/")
    stage = f"/{context.get('stage', '')}"
    if "apiId" not in context:
        return base
    if "domainName" not in context:  # an emulator, which has all APIs under one host
        return f"http://{request.headers.get('host', 'localhost')}/restapis/{context['apiId']}{stage}/_user_request_"
    whole, own = str(context.get("path", "")), str(event.get("path", ""))
    if whole.endswith(own):
        return base + whole.removesuffix(own)
    return base + stage if whole.startswith(f"{stage}/") else base
