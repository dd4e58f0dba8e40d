"""`POST /v1/verify`: the check of sentences, for an answer of any framework and any model."""

import time
from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from groundcheck import Checked, ClaimStatus, Passage
from ragdrop.api.http import Authenticate, RequestDeadline
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.tenants import Caller
from ragdrop.generate.verify import VerifyAnswer

MAX_ANSWER_CHARACTERS = 20_000
MAX_SOURCES = 50
MAX_SOURCE_CHARACTERS = 500_000  # of all sources together

VerifyPart = Callable[[], VerifyAnswer]


class SourceText(BaseModel):
    """A text that the answer may stand on, and the caller's name for it."""

    model_config = ConfigDict(extra="forbid", strict=True)

    id: Annotated[str, StringConstraints(min_length=1, max_length=900)] = Field(
        description="The caller's name for the source; no two have the same."
    )
    text: Annotated[str, StringConstraints(min_length=1)] = Field(
        max_length=MAX_SOURCE_CHARACTERS, description="Its text; 500,000 characters of all sources together."
    )


class VerifyRequest(BaseModel):
    """An answer, and the texts that it was written from; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", strict=True)

    answer: Annotated[str, StringConstraints(min_length=1, max_length=MAX_ANSWER_CHARACTERS)] = Field(
        description="The answer; its sentences may have markers: [2] names the second source.",
        examples=["The pump holds 7 litres [1]."],
    )
    sources: list[SourceText] = Field(min_length=1, max_length=MAX_SOURCES, description="What it may stand on.")

    @model_validator(mode="after")
    def _within_limits(self) -> "VerifyRequest":
        if sum(len(source.text) for source in self.sources) > MAX_SOURCE_CHARACTERS:
            raise ValueError(f"the sources have more than {MAX_SOURCE_CHARACTERS:,} characters together")
        if len({source.id for source in self.sources}) < len(self.sources):
            raise ValueError("two sources have the same id")
        return self


class ProofShape(BaseModel):
    """The passage that decided: code points `start` to `end` of the source's text."""

    source: str
    start: int
    end: int
    quote: str


class SentenceShape(BaseModel):
    """A sentence of the answer and what its check gave: code points `start` to `end` of `answer`."""

    start: int
    end: int
    text: str
    status: ClaimStatus
    reason: str | None
    support: float | None
    evidence: list[ProofShape]


class VerifyResponse(BaseModel):
    """Each sentence of the answer, in order."""

    sentences: list[SentenceShape]
    warnings: list[str]
    latency_ms: float
    request_id: str


def verify_router(verify: VerifyPart, caller: Authenticate) -> APIRouter:
    """The route over *verify*, which is called at the first request."""
    router = APIRouter(prefix="/v1", tags=["verify"])

    @router.post("/verify", response_model=VerifyResponse, summary="Check an answer against its sources")
    def post_verify(
        body: VerifyRequest,
        request: Request,
        _who: Annotated[Caller, Depends(caller)],
        deadline: RequestDeadline,
    ) -> VerifyResponse:
        """Check each sentence of an answer that any model wrote, from any framework, against the texts given.

        Nothing is searched and nothing is kept.
        """
        return verified(verify(), body, request, deadline)

    return router


def verified(verify: VerifyAnswer, body: VerifyRequest, request: Request, deadline: Deadline) -> VerifyResponse:
    """The response to a request."""
    start = time.perf_counter()
    found = verify(body.answer, [Passage(each.text, id=each.id) for each in body.sources], deadline)
    if any(found.tokens) and request.app.state.observe is not None:
        request.app.state.observe().note_tokens(request.state.caller, *found.tokens)
    return VerifyResponse(
        sentences=[_sentence(each) for each in found.sentences],
        warnings=found.warnings,
        latency_ms=round((time.perf_counter() - start) * 1_000, 1),
        request_id=str(request.state.request_id),
    )


def _sentence(checked: Checked) -> SentenceShape:
    return SentenceShape(
        start=checked.start,
        end=checked.end,
        text=checked.text,
        status=checked.status,
        reason=checked.reason,
        support=checked.support,
        evidence=[
            ProofShape(source=each.passage.id, start=each.start, end=each.end, quote=each.quote)
            for each in checked.evidence
        ],
    )
