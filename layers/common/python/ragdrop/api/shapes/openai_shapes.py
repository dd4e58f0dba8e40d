"""Requests of the OpenAI protocol as far as ragdrop reads them, and ids of files in it."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, StringConstraints

from ragdrop.api.shapes.fields import AnswerAnyway, NullIsAbsent, Tolerant
from ragdrop.api.shapes.request_shapes import Name, Plain
from ragdrop.domain.answers import Turn
from ragdrop.errors import InvalidParamsError

DEFAULT_MODEL = "default"
FILE_PREFIX = "file-"
MAX_MESSAGES = 1_000
MAX_INPUTS = 256  # texts: eight requests to the embedding endpoint at its usual batch size
MAX_INPUT_CHARACTERS = 500_000  # of all texts together
MAX_FILE_ID = 1_300  # characters: a path of 900 bytes
TEXTS = frozenset({"text", "input_text", "output_text"})  # parts of a content
SPEAKERS = frozenset({"user", "assistant"})  # a client's system prompt is not ours: ragdrop has its own
OPERATORS = {
    "eq": "equals",
    "ne": "notEquals",
    "gt": "greaterThan",
    "gte": "greaterThanOrEquals",
    "lt": "lessThan",
    "lte": "lessThanOrEquals",
    "in": "in",
    "nin": "notIn",
}
"""Comparisons of a filter, and what Bedrock's filters call them."""


def file_id(path: str) -> str:
    """The id of a file: its path in whatever vault it lies.

    >>> file_id("notes/pump.md")
    'file-bm90ZXMvcHVtcC5tZA'
    """
    return FILE_PREFIX + base64.urlsafe_b64encode(path.encode()).decode().rstrip("=")


def path_of_file(given: str) -> str:
    """The path that a file's id names. Raises InvalidParamsError: it is no such id.

    >>> path_of_file("file-bm90ZXMvcHVtcC5tZA")
    'notes/pump.md'
    """
    text = given.removeprefix(FILE_PREFIX)
    try:
        if text == given:
            raise ValueError(given)
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True).decode()
    except (ValueError, binascii.Error) as exc:
        message = f"file_id: {given[:80]!r} is no id that POST /v1/files gave"
        raise InvalidParamsError(message, field="file_id", value=given[:80], allowed=None) from exc


def bedrock_filter(given: object) -> object:
    """A filter of the protocol as a tree of Bedrock's conditions, which refuses what does not map.

    >>> bedrock_filter({"type": "and", "filters": [{"type": "eq", "key": "category", "value": "pumps"},
    ...                                            {"type": "in", "key": "owner", "value": ["ann", "bob"]}]})
    {'andAll': [{'equals': {'key': 'category', 'value': 'pumps'}}, {'in': {'key': 'owner', 'value': ['ann', 'bob']}}]}
    """
    if not isinstance(given, Mapping):
        return given
    kind, key = str(given.get("type")), given.get("key")
    if kind in {"and", "or"} and isinstance(given.get("filters"), list):
        each = [bedrock_filter(one) for one in given["filters"]]
        return each[0] if len(each) == 1 else {f"{kind}All": each}
    operator = "listContains" if key == "tags" and kind == "eq" else OPERATORS.get(kind, kind)
    return {operator: {name: given[name] for name in ("key", "value") if name in given}}


class ChatMessage(NullIsAbsent):
    """One message; of a content in parts the texts count."""

    model_config = ConfigDict(extra="ignore")

    role: Annotated[str, StringConstraints(max_length=40)] = Field(
        description="Who speaks: `user`, `assistant`; what others say is left out."
    )
    content: str | list[dict[str, Any]] | None = Field(
        default=None, description="What is said; of a content in parts the texts count."
    )

    @property
    def text(self) -> str:
        """What is said.

        >>> ChatMessage(role="user", content=[{"type": "text", "text": "pump?"}, {"type": "image_url"}]).text
        'pump?'
        """
        if isinstance(self.content, list):
            parts = [part.get("text") for part in self.content if str(part.get("type")) in TEXTS]
            return "\n".join(part for part in parts if isinstance(part, str)).strip()
        return (self.content or "").strip()


class InputItem(ChatMessage):
    """One item of an input; what is no message, such as the call of a tool, is left out."""

    role: Annotated[str, StringConstraints(max_length=40)] = Field(
        default="", description="Who speaks: `user`, `assistant`; what others say is left out."
    )


def spoken(messages: Sequence[ChatMessage], *, field: str) -> list[Turn]:
    """The conversation up to the user's last message.

    Raises InvalidParamsError, of *field*: the user says nothing in it, not even at the end.
    """
    last = next((place for place in reversed(range(len(messages))) if messages[place].role == "user"), None)
    if last is None or not messages[last].text:
        message = f"{field}: there is no message of the role user, or the last one has no text"
        raise InvalidParamsError(message, field=field, value=None, allowed=None)
    return [Turn(each.role, each.text) for each in messages[: last + 1] if each.role in SPEAKERS and each.text]


class StreamOptions(Tolerant):
    """What a stream reports besides the answer."""

    include_usage: bool = Field(default=False, description="A last chunk with the tokens.")


Model = Annotated[
    str,
    StringConstraints(max_length=200),
    Field(description="`default`, or `vault:NAME` for one vault.", examples=[DEFAULT_MODEL]),
]


class ChatRequest(Tolerant):
    """A chat completion; `model` is `default` or `vault:NAME`."""

    model: Model = DEFAULT_MODEL
    messages: list[ChatMessage] = Field(
        min_length=1, max_length=MAX_MESSAGES, description="The conversation; the last question is answered."
    )
    stream: bool = Field(default=False, description="Answer by server-sent events.")
    stream_options: StreamOptions | None = Field(default=None, description="What a stream reports besides the answer.")
    answer_anyway: AnswerAnyway = False

    @property
    def turns(self) -> list[Turn]:
        """The conversation up to the user's last message. Raises InvalidParamsError: the user says nothing in it."""
        return spoken(self.messages, field="messages")


def _one_text(value: object) -> object:
    return [{"role": "user", "content": value}] if isinstance(value, str) else value


class RankingOptions(Tolerant):
    """How a search orders and what it leaves out."""

    ranker: str | None = Field(default=None, description="All but `none`: the reader orders the results.")
    score_threshold: float | None = Field(
        default=None, ge=0, le=1, description="Documents below are left out; on ragdrop's own scale of relevance."
    )


class StoreFilter(Tolerant):
    """Which documents of a vector store are searched."""

    filters: dict[str, Any] | None = Field(default=None, description="A comparison, or several with `and` or `or`.")


class SearchTool(StoreFilter):
    """A tool; `file_search` says which vaults are asked, others are ignored."""

    type: str = Field(max_length=80, description="`file_search`.")
    vector_store_ids: list[Name] = Field(default=[], max_length=100, description="Names or ids of vaults.")

    def ignored(self, place: str = "") -> Iterator[str]:
        """The fields that were given and are not read; of another tool its type."""
        yield from super().ignored(place) if self.type == "file_search" else [place + self.type]


class ResponsesRequest(Tolerant):
    """A question to be answered, with the conversation before."""

    model: Model = DEFAULT_MODEL
    input: Annotated[list[InputItem], BeforeValidator(_one_text)] = Field(
        min_length=1,
        max_length=MAX_MESSAGES,
        description="The question, or the conversation whose last question is answered.",
        json_schema_extra={"anyOf": [{"type": "string"}, {"type": "array"}]},
    )
    stream: bool = Field(default=False, description="Answer by server-sent events.")
    previous_response_id: Annotated[str, StringConstraints(max_length=100)] | None = Field(
        default=None, description="The `id` of the response that this one follows up."
    )
    tools: list[SearchTool] = Field(default=[], max_length=100, description="`file_search` limits what is asked.")
    metadata: dict[str, Any] | None = Field(default=None, description="What the response repeats.")
    answer_anyway: AnswerAnyway = False

    @property
    def turns(self) -> list[Turn]:
        """The conversation up to the user's last message. Raises InvalidParamsError: the user says nothing in it."""
        return spoken(self.input, field="input")

    @property
    def searches(self) -> list[SearchTool]:
        """The tools that search files. Raises InvalidParamsError: there are two with filters, which would differ."""
        found = [tool for tool in self.tools if tool.type == "file_search"]
        if len(found) > 1 and any(tool.filters for tool in found):
            message = "tools: several file_search tools, one of them with filters: send one tool for all vector stores"
            raise InvalidParamsError(message, field="tools", value=len(found), allowed=1)
        return found


class StoreSearchRequest(StoreFilter):
    """A search for passages in one vector store."""

    query: Annotated[list[str], BeforeValidator(lambda value: [value] if isinstance(value, str) else value)] = Field(
        min_length=1,
        max_length=20,
        description="What is searched for; several texts are one question.",
        json_schema_extra={"anyOf": [{"type": "string"}, {"type": "array"}]},
    )
    max_num_results: int = Field(default=10, ge=1, le=50, strict=True, description="Passages.")
    ranking_options: RankingOptions = Field(default_factory=RankingOptions, description="Threshold and reader.")


class AttachRequest(Tolerant):
    """A file of `POST /v1/files` for a vector store."""

    file_id: Annotated[str, StringConstraints(min_length=1, max_length=MAX_FILE_ID)] = Field(
        description="The `id` that `POST /v1/files` gave."
    )
    attributes: dict[str, Plain] | None = Field(
        default=None, max_length=16, description="What searches may filter by; at most 2 KB."
    )


class EmbeddingsRequest(Tolerant):
    """Texts to embed by the model of the index."""

    model_config = ConfigDict(strict=True)

    model: Annotated[str, StringConstraints(max_length=200)] = Field(
        default=DEFAULT_MODEL, description="`default`, or the name of the embedding model.", examples=[DEFAULT_MODEL]
    )
    input: str | list[Any] = Field(description="A text, or a list of 1 to 256 texts; no tokens.")
    encoding_format: Literal["float", "base64"] = Field(
        default="float", description="A list of numbers, or their 32-bit floats in little-endian order as base64."
    )
    dimensions: int | None = Field(default=None, description="That of the index; no other.")
    input_type: Literal["passage", "query"] = Field(
        default="passage", description="Which prefix of the model the texts get: that of documents or of questions."
    )

    @property
    def texts(self) -> list[str]:
        """The texts. Raises InvalidParamsError: they are tokens, empty, too many or too long."""
        texts = [self.input] if isinstance(self.input, str) else self.input
        if any(not isinstance(text, str) for text in texts):
            message = "input: tokens are not supported: send a text, or a list of texts"
            raise InvalidParamsError(message, field="input", value=None, allowed=None)
        if not 1 <= len(texts) <= MAX_INPUTS or not all(text.strip() for text in texts):
            message = f"input: {len(texts)} texts; 1 to {MAX_INPUTS} are allowed, none of them empty"
            raise InvalidParamsError(message, field="input", value=len(texts), allowed={"le": MAX_INPUTS})
        characters = sum(map(len, texts))
        if characters > MAX_INPUT_CHARACTERS:
            message = f"input: {characters} characters; at most {MAX_INPUT_CHARACTERS} are allowed in one request"
            raise InvalidParamsError(message, field="input", value=characters, allowed={"le": MAX_INPUT_CHARACTERS})
        return texts
