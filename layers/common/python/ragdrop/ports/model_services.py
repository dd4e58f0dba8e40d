"""Embedding models, chat models and readers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

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

    Raises GenerationError (`reason`: `content_filter, guardrail, empty, unreadable, broken_off, refused, throttled,
    unreachable`), ModelNotFoundError, ModelAccessError, or DeadlineError with the stage `generate`.
    """

    def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        deadline: Deadline,
        model: str | None = None,
        as_json: bool = False,
    ) -> Completion:
        """The whole answer, of at most *max_tokens* tokens; by *model* alone where one is named.

        *as_json* asks for one JSON object, which the messages ask for too: not every endpoint can see to it.
        """

    def stream(
        self, messages: Sequence[Message], *, max_tokens: int, deadline: Deadline, model: str | None = None
    ) -> Iterator[str | Completion]:
        """The answer piece by piece, then the Completion, whose text is the whole.

        Another model is only tried while nothing has been given out.  Closing the iterator ends the model's work.
        """


@dataclass(frozen=True, slots=True)
class NearServer:
    """A server of chat models on this machine."""

    name: str
    url: str
    models: tuple[str, ...]


class TriedModels(Protocol):
    """Chat models that somebody may connect."""

    def near(self, deadline: Deadline) -> list[NearServer]:
        """The servers on this machine's usual ports that have models."""

    def attempt(self, url: str, model: str, key: str | None, deadline: Deadline) -> str | None:
        """Ask *model* at *url* for one word: None if it answers, else why not, without the key."""


class ModelList(Protocol):
    """An OpenAI-compatible endpoint's list of models."""

    def models(self, deadline: Deadline) -> frozenset[str] | None:
        """The ids of its models; None where it answers, but lists none.  Asked once, never tried again.

        Raises DependencyError: it did not answer, or refused; `service` names it.
        """


@dataclass(frozen=True, slots=True)
class ModelStanding:
    """What an account has of a model: whether its region does, and what keeps it from being called, by AWS's words."""

    in_region: bool
    missing: tuple[str, ...] = ()


class ModelCatalogue(Protocol):
    """What the account has of the models of Amazon Bedrock that the settings name."""

    def standings(self) -> Mapping[str, ModelStanding]:
        """Each model's standing, by its name.

        Raises DependencyError: AWS did not answer, or these credentials may not ask.
        """


@dataclass(frozen=True, slots=True)
class Reading:
    """What a passage is worth to a question or a claim; all but the answer are probabilities in [0, 1].

    Args:
        relevance: The passage serves the question.
        answerable: The passage answers the question.
        supported: The passage supports the claim.
        contradicted: The passage says otherwise than the claim.
        answer: Code points of the likeliest answer in the passage, whether or not it answers; None without a word.
    """

    relevance: float
    answerable: float
    supported: float
    contradicted: float
    answer: tuple[int, int] | None = None


class Reader(Protocol):
    """Reads a question or a claim against a passage.  It was trained on English.

    A passage longer than its window is read in windows that overlap by a quarter.  Relevance, `answerable` with its
    answer, and `supported` are those of the best window.  `contradicted` is that of the window where one of both is
    highest.

    Raises ReaderError, DeadlineError with the stage `read`, or CircuitOpenError.
    """

    def read(self, pairs: Sequence[tuple[str, str]], deadline: Deadline) -> list[Reading]:
        """One reading a pair of query and passage, in order; an empty list costs no call."""
