"""A question that is to be answered, not only searched for."""

from __future__ import annotations

from dataclasses import dataclass

from ragdrop.domain.answers import AnswerStyle
from ragdrop.domain.queries import Query


@dataclass(frozen=True, slots=True)
class Question:
    """A query, and how it is to be answered; None means that settings decide.

    `system_prompt` and `prompt_template` are for roles that may; `max_context_tokens` is the whole context's.
    """

    query: Query
    style: AnswerStyle | None = None
    model: str | None = None
    system_prompt: str | None = None
    prompt_template: str | None = None
    max_context_tokens: int | None = None
