"""An Embedder for tests: equal words give near vectors, no network, no weights."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence

from ragdrop.domain.chunks import Vector, vector
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.models import EmbeddingSpace
from ragdrop.errors import EmbeddingServiceError, GenerationError, RagdropError
from ragdrop.ports.model_services import Completion, Message

_PLACES_A_WORD = 4  # few words then share a place, and those that do seldom share another


class HashingEmbedder:
    """Counts words at places that their hashes name.  The same text always has the same vector.

    Args:
        dimension: Of every vector; another in the EmbeddingSpace is refused as a real service's would be.

    `texts_embedded` counts texts, `calls` calls; set `fail_with` and every call raises it.
    """

    def __init__(self, dimension: int = 64) -> None:
        self.dimension = dimension
        self.texts_embedded = 0
        self.calls = 0
        self.fail_with: RagdropError | None = None

    def query(self, text: str, space: EmbeddingSpace, deadline: Deadline) -> Vector:
        return self._embed([space.query_prefix + text], space, deadline)[0]

    def passages(self, texts: Sequence[str], space: EmbeddingSpace, deadline: Deadline) -> list[Vector]:
        if not texts:
            return []
        return self._embed([space.passage_prefix + text for text in texts], space, deadline)

    def _embed(self, texts: Sequence[str], space: EmbeddingSpace, deadline: Deadline) -> list[Vector]:
        deadline.timeout_s(1.0, stage="embed")
        self.calls += 1
        if self.fail_with is not None:
            raise self.fail_with
        if space.dimension != self.dimension:
            raise EmbeddingServiceError(
                f"vectors of {space.dimension} dimensions were expected, the model gives {self.dimension}",
                service="embedding",
                retryable=False,
            )
        self.texts_embedded += len(texts)
        return [word_vector(text, self.dimension) for text in texts]


def word_vector(text: str, dimension: int) -> Vector:
    """A vector of *dimension* places in which every word of *text*, case folded, adds to a few; zeros without words.

    >>> near = zip(word_vector("the pump leaks", 64), word_vector("Pump leaks!", 64))
    >>> sum(left * right for left, right in near) > 0.7
    True
    """
    places = [0.0] * dimension
    for word in re.findall(r"\w+", text.casefold()):
        digest = hashlib.sha256(word.encode(errors="replace")).digest()
        for number in range(_PLACES_A_WORD):
            part = digest[4 * number : 4 * number + 4]
            places[int.from_bytes(part[:3], "big") % dimension] += 1.0 if part[3] & 1 else -1.0
    return vector(places)


_PIECE = re.compile(r"\s*\S+\s*")


class ScriptedChatModel:
    """Gives *reply*, or what *reply* makes of the messages.

    `asked` keeps what it was sent, `models` which model was asked for; `fail_with` is raised instead of an answer;
    after `break_after` pieces a stream breaks off; `closed` counts streams that were ended by their listener.
    """

    def __init__(
        self, reply: str | Callable[[Sequence[Message]], str] = "It is so [1].", *, model: str = "scripted"
    ) -> None:
        self.reply = reply
        self.model = model
        self.asked: list[Sequence[Message]] = []
        self.models: list[str | None] = []
        self.fail_with: RagdropError | None = None
        self.break_after: int | None = None
        self.finish_reason = "stop"
        self.closed = 0
        self.max_tokens: int | None = None

    def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        deadline: Deadline,
        model: str | None = None,
        as_json: bool = False,
    ) -> Completion:
        return self._said(messages, max_tokens, deadline, model)

    def stream(
        self, messages: Sequence[Message], *, max_tokens: int, deadline: Deadline, model: str | None = None
    ) -> Iterator[str | Completion]:
        completion = self._said(messages, max_tokens, deadline, model)
        ended = False
        try:
            for place, piece in enumerate(_PIECE.findall(completion.text)):
                if place == self.break_after:
                    raise GenerationError("the chat model's answer broke off", service="chat", reason="broken_off")
                yield piece
            yield completion
            ended = True
        except GeneratorExit:
            self.closed += not ended
            raise

    def _said(self, messages: Sequence[Message], max_tokens: int, deadline: Deadline, model: str | None) -> Completion:
        deadline.timeout_s(60, stage="generate")
        self.asked.append(messages)
        self.max_tokens = max_tokens
        self.models.append(model)
        if self.fail_with is not None:
            raise self.fail_with
        text = self.reply if isinstance(self.reply, str) else self.reply(messages)
        if not text.strip():
            raise GenerationError("the chat model said nothing", service="chat", reason="empty")
        return Completion(text, model or self.model, self.finish_reason, len(str(messages)) // 4, len(text) // 4)
