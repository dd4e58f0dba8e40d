"""Embedding and chat models, and the prompts that chat models get."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from ragdrop.domain.answers import Segment
from ragdrop.domain.chunks import Vector
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.tenants import EmbeddingSpace


class Embedder(Protocol):
    """Turns text into vectors.  Raises EmbeddingServiceError; `retryable=False` for a wrong dimension."""

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
    """A chat model's whole answer; token counts are None where the endpoint does not tell."""

    text: str
    model: str
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class ChatModel(Protocol):
    """An OpenAI-compatible chat endpoint with one model or several, tried in order.

    Raises GenerationError (`reason`: `content_filter, empty, unreadable, broken_off, refused, unreachable`),
    ModelNotFoundError, or DeadlineError with the stage `generate`.
    """

    def complete(
        self, messages: Sequence[Message], *, max_tokens: int, deadline: Deadline, model: str | None = None
    ) -> Completion:
        """The whole answer, of at most *max_tokens* tokens; by *model* alone where one is named."""
        ...

    def stream(
        self, messages: Sequence[Message], *, max_tokens: int, deadline: Deadline, model: str | None = None
    ) -> Iterator[str | Completion]:
        """The answer piece by piece, then the Completion, whose text is the whole.

        Another model is only tried while nothing has been given out.  Closing the iterator ends the model's work.
        """
        ...


class Prompter(Protocol):
    """Renders the messages of a question.  `version` is a hash of the templates' content."""

    version: str
    system: str

    def render(self, question: str, segments: Sequence[Segment]) -> list[Message]:
        """The messages to send: the system prompt, then sources and question."""
        ...

    def problem(self, template: str) -> str | None:
        """Why *template* cannot be rendered in place of a shipped one, in one line; None where it can."""
        ...
