"""Requests of ask: those of search and what answers need.  A search does not wait for their models."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from ragdrop.api.shapes.fields import AnswerAnyway
from ragdrop.api.shapes.request_shapes import Prompt, SearchRequest
from ragdrop.domain.retrieval import AnswerStyle


class EarlierTurn(BaseModel):
    """A question of a conversation and what was answered."""

    model_config = ConfigDict(extra="forbid", strict=True)

    question: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=1_000)] = Field(
        description="The question."
    )
    answer: Annotated[str, StringConstraints(max_length=20_000)] = Field(
        default="", description="What was answered; empty where nothing was."
    )


class AskRequest(SearchRequest):
    """A question to be answered from the documents."""

    history: list[EarlierTurn] = Field(
        default=[],
        max_length=20,
        description="The conversation before: the question is asked so that it can be understood without it, and a "
        "prompt for a question that follows up shows its last turns.",
    )

    style: AnswerStyle | None = Field(
        default=None, description="How long the answer is; as `detail` says if not given."
    )
    stream: bool = Field(default=False, description="Answer by server-sent events.")
    model: Annotated[str, StringConstraints(min_length=1, max_length=200)] | None = Field(
        default=None, description="The chat model to ask; the deployment's own if not given."
    )
    system_prompt: Prompt | None = Field(
        default=None, description="In place of the shipped system prompt; role admin. The rules on markers stay."
    )
    prompt_template: Prompt | None = Field(
        default=None, description="In place of the shipped template, over `sources` and `question`; role admin."
    )
    max_context_tokens: int | None = Field(
        default=None, ge=1_000, le=1_000_000, description="Tokens of the whole context, the answer's included."
    )
    answer_anyway: AnswerAnyway = False
