"""Embedding and chat models, and the prompts that chat models get."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from groundcheck import OpenClaim, Opinion
from ragdrop.domain.answers import AnswerStyle, Source
from ragdrop.domain.chunks import Vector
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.models import EmbeddingSpace, ModelCall


class Embedder(Protocol):
    """Turns text into vectors.

    Raises EmbeddingServiceError, `retryable=False` for a wrong dimension, or ModelNotFoundError.
    """

    def query(self, text: str, space: EmbeddingSpace, deadline: Deadline) -> Vector:
        """The vector of a question, with the space's query prefix."""

    def passages(self, texts: Sequence[str], space: EmbeddingSpace, deadline: Deadline) -> list[Vector]:
        """The vectors of passages, in order, with the space's passage prefix; an empty list costs no call."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a chat; `role` is system, user or assistant."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Completion:
    """A chat model's whole answer; token counts are None if the endpoint does not tell."""

    text: str
    model: str
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None

    @property
    def call(self) -> ModelCall:
        """What it used."""
        return ModelCall(self.model, self.prompt_tokens, self.completion_tokens)


class ChatModel(Protocol):
    """An OpenAI-compatible chat endpoint with one model or several, tried in order.

    Raises GenerationError (`reason`: `content_filter, empty, unreadable, broken_off, refused, unreachable`),
    ModelNotFoundError, or DeadlineError with the stage `generate`.
    """

    def complete(
        self, messages: Sequence[Message], *, max_tokens: int, deadline: Deadline, model: str | None = None
    ) -> Completion:
        """The whole answer, of at most *max_tokens* tokens; by *model* alone where one is named."""

    def stream(
        self, messages: Sequence[Message], *, max_tokens: int, deadline: Deadline, model: str | None = None
    ) -> Iterator[str | Completion]:
        """The answer piece by piece, then the Completion, whose text is the whole.

        Another model is only tried while nothing has been given out.  Closing the iterator ends the model's work.
        """


@dataclass(frozen=True, slots=True)
class PromptRequest:
    """What a prompt is made of; `system_prompt` and `prompt_template` stand in place of the shipped ones."""

    question: str
    sources: Sequence[Source]
    style: AnswerStyle = "normal"
    system_prompt: str | None = None
    prompt_template: str | None = None


@dataclass(frozen=True, slots=True)
class Prompt:
    """The messages to send, and a hash of all templates that made them.

    `prefix` stands before the number of each source, and so in its marker: nothing that is shown holds such a marker.
    """

    messages: list[Message]
    version: str
    prefix: str = ""


class Prompter(Protocol):
    """Renders the messages of a question from templates; retrieved text is data in them and cannot end itself."""

    def system(self, style: AnswerStyle, system_prompt: str | None = None, *, prefix: str = "") -> str:
        """The system message: the shipped prompt or *system_prompt*, the style, and the rules that always hold.

        The rules name markers with *prefix*.

        Raises InvalidParamsError: *system_prompt* does not render.
        """

    def render(self, request: PromptRequest) -> Prompt:
        """The system message, and the user message that holds sources and question.

        Raises InvalidParamsError: `system_prompt` or `prompt_template` does not render.
        """

    def problem(self, template: str) -> str | None:
        """Why *template* cannot be rendered in place of a shipped one, in one line; None where it can."""


class ModelList(Protocol):
    """An OpenAI-compatible endpoint's list of models."""

    def models(self, deadline: Deadline) -> frozenset[str] | None:
        """The ids of its models; None where it answers, but lists none.  Asked once, never tried again.

        Raises DependencyError: it did not answer, or refused; `service` names it.
        """


class Reranker(Protocol):
    """Scores texts against a question.  Raises RerankError or DeadlineError."""

    def scores(self, query: str, texts: Sequence[str], deadline: Deadline) -> list[float]:
        """One score a text, in the order of *texts*: higher fits better, scales differ from model to model.

        No texts cost no call.
        """


@dataclass(frozen=True, slots=True)
class Judgement:
    """One opinion a claim, in order, and the tokens that a chat model read and wrote for them."""

    opinions: list[Opinion]
    prompt_tokens: int = 0
    completion_tokens: int = 0


class ClaimVerifier(Protocol):
    """Judges what rules leave open.

    `reads_relations` says whether it can tell that a passage states a claim.  One that cannot never says `verified`,
    and is not asked about claims that have evidence already.

    Raises EmbeddingServiceError or GenerationError, whichever service it asks, CircuitOpenError or DeadlineError.
    """

    reads_relations: bool

    def judge(self, claims: Sequence[OpenClaim], deadline: Deadline) -> Judgement:
        """Judge all *claims* at once."""
