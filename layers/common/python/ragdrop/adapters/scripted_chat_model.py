"""A ChatModel for tests: it says what it was told to say."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from ragdrop.domain.deadlines import Deadline
from ragdrop.errors import GenerationError, RagdropError
from ragdrop.ports import Completion, Message

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
    ) -> Completion:
        """The scripted reply."""
        return self._said(messages, max_tokens, deadline, model)

    def stream(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        deadline: Deadline,
        model: str | None = None,
    ) -> Iterator[str | Completion]:
        """The scripted reply, word by word."""
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
