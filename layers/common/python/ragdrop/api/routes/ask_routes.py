"""`POST /ask`, whole or streamed, and `POST /v1/verify`, the check of sentences for answers of any model."""

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Depends, Request

from groundcheck import Checked, Passage
from ragdrop.api.edge import Authenticate, HotRoute, RequestDeadline
from ragdrop.api.shapes.answer_shapes import (
    AnswersQuestionShape,
    AskResponse,
    ProofShape,
    SentenceShape,
    TableProofShape,
    VerifyRequest,
    VerifyResponse,
    ask_response,
)
from ragdrop.api.shapes.fields import shaped
from ragdrop.api.shapes.question_shapes import AskRequest, EarlierTurn
from ragdrop.api.shapes.request_shapes import query_of
from ragdrop.api.streams import EVENT_STREAM, EventStream, events
from ragdrop.domain.answers import Question, TableProof, Turn
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.tenants import Caller
from ragdrop.errors import InvalidParamsError, NotFoundError
from ragdrop.generate.ask import ObservedAsk
from ragdrop.generate.prompt import CondenseConversation
from ragdrop.generate.store_receipts import StoreReceipts
from ragdrop.generate.verify_answer import VerifyAnswer
from ragdrop.resilience.timing import noted_calls

VerifyPart = Callable[[], VerifyAnswer]
AskPart = Callable[[], ObservedAsk]
TURNS = 5  # of a conversation that the id of an answer continues


def ask_router(ask: AskPart, condense: Callable[[], CondenseConversation], caller: Authenticate) -> APIRouter:
    """The route; *ask* and *condense* are called at the first request, so that declaring it costs nothing."""
    router = APIRouter(tags=["ask"], route_class=HotRoute)

    @router.post(
        "/ask",
        response_model=AskResponse,
        response_model_exclude_unset=True,
        summary="Answer a question",
        responses={200: {"content": {EVENT_STREAM: {}}, "description": "The answer, or its events with `stream`."}},
    )
    def post_ask(
        body: AskRequest, request: Request, who: Annotated[Caller, Depends(caller)], deadline: RequestDeadline
    ) -> AskResponse | EventStream:
        """Answer a question from the documents, with citations that name bucket, key, version, span and quote.

        With `stream` the answer comes as server-sent events: `retrieval` at once, then `token` and `citation` (only
        once checked), then `done` with the whole answer, or `error`.
        """
        start = time.perf_counter()
        question = understood(body, condense, deadline)
        request.state.asked = question.query.text
        if not body.stream:
            return ask_response(ask()(question, who, deadline), request, start)
        stream = ask().stream(question, who, deadline)
        first = next(stream)  # what fails before anything was said is an error like any other
        return EventStream(events(itertools.chain([first], stream), request, start))

    return router


def understood(body: AskRequest, condense: Callable[[], CondenseConversation], deadline: Deadline) -> Question:
    """The domain's question of a request, so that it can be understood without its conversation."""
    question = question_of(body)
    if not body.history:
        return question
    condensed = condense()([*turns_of(body.history), Turn("user", body.query)], deadline)
    query = replace(question.query, text=condensed.text)
    typed = question.query.text if question.query.text != condensed.text else None
    return replace(question, query=query, calls=condensed.calls, turns=condensed.turns, typed=typed)


def answer(ask: ObservedAsk, body: AskRequest, request: Request, who: Caller, deadline: Deadline) -> AskResponse:
    """The whole answer to a request."""
    start = time.perf_counter()
    return ask_response(ask(question_of(body), who, deadline), request, start)


def turns_of(history: Sequence[EarlierTurn]) -> list[Turn]:
    """The messages of the turns of a conversation."""
    said = [(one.question, one.answer) for one in history]
    return [Turn(role, text) for pair in said for role, text in zip(("user", "assistant"), pair, strict=True) if text]


def question_of(body: AskRequest) -> Question:
    """The domain's question of a request, without its conversation."""
    return Question(
        replace(query_of(body), rerank=False),  # whoever asks lets the reader read anyway
        style=body.style,
        model=body.model,
        system_prompt=body.system_prompt,
        prompt_template=body.prompt_template,
        max_context_tokens=body.max_context_tokens,
        answer_anyway=body.answer_anyway,
    )


def earlier_turns(
    receipts: StoreReceipts, who: Caller, last: str, deadline: Deadline, *, field: str
) -> list[EarlierTurn]:
    """The last turns of the conversation that ends with the answer of the id *last*, the oldest first.

    Raises InvalidParamsError, of *field*: *who* may read no such answer.
    """
    turns: list[EarlierTurn] = []
    following: str | None = last
    while following and len(turns) < TURNS:
        try:
            body = receipts.read(who, following, deadline).body
        except NotFoundError as exc:
            if not turns:
                message = f"{field}: there is no session {last[:80]!r}; the first question has none"
                raise InvalidParamsError(message, field=field, value=last[:80], allowed=None) from exc
            break
        turns.append(EarlierTurn(question=body["question"], answer=body["answer"][:20_000]))
        following = body["request"].get("session")
    return turns[::-1]


def verify_router(verify: VerifyPart, caller: Authenticate) -> APIRouter:
    """The route over *verify*, which is called at the first request."""
    router = APIRouter(prefix="/v1", tags=["verify"])

    @router.post("/verify", summary="Check an answer against its sources")
    def post_verify(
        body: VerifyRequest, request: Request, _who: Annotated[Caller, Depends(caller)], deadline: RequestDeadline
    ) -> VerifyResponse:
        """Check each sentence of an answer that any model wrote, from any framework, against the texts given.

        Nothing is searched and nothing is stored.
        """
        return verified_answer(verify(), body, request, deadline)

    return router


def verified_answer(verify: VerifyAnswer, body: VerifyRequest, request: Request, deadline: Deadline) -> VerifyResponse:
    """The response to a request."""
    start = time.perf_counter()
    sources = [Passage(each.text, id=each.id) for each in body.sources]
    with noted_calls() as calls:
        found = verify(body.answer, sources, deadline, question=body.question)
    if calls and request.app.state.observe is not None:
        request.app.state.observe().note_calls(request.state.caller, calls)
    return VerifyResponse(
        sentences=[_sentence(each, found.computed.get(place)) for place, each in enumerate(found.sentences)],
        answers_question=AnswersQuestionShape.model_validate(found.answers) if found.answers else None,
        warnings=found.warnings,
        latency_ms=round((time.perf_counter() - start) * 1_000, 1),
        request_id=str(request.state.request_id),
    )


def _sentence(checked: Checked, computed: TableProof | None) -> SentenceShape:
    evidence = [shaped(ProofShape, each, source=each.passage.id) for each in checked.evidence]
    table = None if computed is None else TableProofShape.model_validate(computed)
    return shaped(SentenceShape, checked, evidence=evidence, table=table)
