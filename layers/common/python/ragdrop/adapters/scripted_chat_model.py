"""A ChatModel for tests: it says what it was told to say."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ragdrop.domain.deadlines import Deadline
from ragdrop.errors import RagdropError
from ragdrop.ports import Completion, Message


class ScriptedChatModel:
    """Gives *reply*, or what *reply* makes of the messages; `asked` keeps what it was sent."""

    def __init__(self, reply: str | Callable[[Sequence[Message]], str] = "It is so [1].") -> None:
        self.reply = reply
        self.asked: list[Sequence[Message]] = []
        self.fail_with: RagdropError | None = None

    def complete(self, messages: Sequence[Message], *, max_tokens: int, deadline: Deadline) -> Completion:  # noqa: ARG002 - the port's own names
        """The scripted reply."""
        self.asked.append(messages)
        if self.fail_with is not None:
            raise self.fail_with
        text = self.reply if isinstance(self.reply, str) else self.reply(messages)
        return Completion(text, "scripted", "stop", len(str(messages)) // 4, len(text) // 4)
