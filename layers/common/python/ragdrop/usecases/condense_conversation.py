"""Condense a conversation: the chat model makes one standalone question of it; failing that, the user's last words."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from ragdrop.domain.conversations import (
    INSTRUCTIONS,
    Turn,
    condensing_request,
    is_standalone,
    last_words,
    read_condensed,
)
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.time_shares import CONDENSE
from ragdrop.errors import DependencyError
from ragdrop.ports import ChatModel, Message

logger = logging.getLogger(__name__)

ANSWER_TOKENS = 300


class CondenseConversation:
    """Asks the chat model for the question that a conversation ends with."""

    def __init__(self, chat: ChatModel) -> None:
        self._chat = chat

    def __call__(self, turns: Sequence[Turn], deadline: Deadline) -> str:
        """The question, 1 to 1,000 characters; *turns* end with one of the user's.  Never fails."""
        if is_standalone(turns):
            return turns[0].text.strip()
        messages = [Message("system", INSTRUCTIONS), Message("user", condensing_request(turns))]
        try:
            reply = self._chat.complete(messages, max_tokens=ANSWER_TOKENS, deadline=CONDENSE.of(deadline))
        except DependencyError as exc:
            logger.warning("a conversation could not be condensed", extra={"service": exc.service, "code": exc.code})
            return last_words(turns)
        return read_condensed(reply.text) or last_words(turns)
