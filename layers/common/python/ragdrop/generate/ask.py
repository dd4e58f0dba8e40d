"""Ask: search, show the model what fits, check the answer as it streams, check the heads again."""

import itertools
import logging
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from ragdrop.domain.answers import Answer, AnswersQuestion, CheckedSentence, Citation, Question, Shown
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.models import ModelCall, spent
from ragdrop.domain.retrieval import AbstainReason, Retrieval, verified
from ragdrop.domain.tenants import Caller
from ragdrop.domain.tokens import estimate_tokens
from ragdrop.errors import CONTEXT_LENGTH, GenerationError
from ragdrop.generate.abstentions import abstention
from ragdrop.generate.answering import ReadQuestion, above, absent_words, closest_passages
from ragdrop.generate.citations import AnswerReader, AskVerifier
from ragdrop.generate.prompt import CUT, PreparedPrompt, PreparePrompt
from ragdrop.generate.store_receipts import StoreReceipts
from ragdrop.ports.answer_services import ClaimVerifier, Prompt
from ragdrop.ports.model_services import ChatModel, Completion
from ragdrop.ports.search_services import SpanFields, Tracer
from ragdrop.ports.telemetry import Operation, QueryReport
from ragdrop.query.pipeline import Observe, report_of
from ragdrop.query.view import ResolveQueryView
from ragdrop.resilience.timing import Timer, calls_so_far, in_one_context, noted_calls, traced
from ragdrop.tenants.limits import DailyBudget

logger = logging.getLogger(__name__)

TRIES = 2  # a document that changes while the model writes makes the answer begin again, once
STRANGERS = "only vaults where strangers write support some sentences: those that are `untrusted`"
CHANGED = "a cited document changed while the answer was written"


@dataclass(frozen=True, slots=True)
class SourcesFound:
    """The first event of a streamed answer: what was found, and what of it the model is shown."""

    retrieval: Retrieval
    shown: Shown = field(default_factory=Shown)


AskEvent = SourcesFound | str | Citation | CheckedSentence | Answer
"""What a streamed answer gives, in order: what was found, then text, checked citations and statuses of sentences, then
the whole answer."""


class ReadAnswer:
    """Makes what reads one answer and checks it.

    Args:
        bucket: The document bucket, named in every citation.
        verifier: Judges what rules leave open; None leaves it open.
    """

    def __init__(self, *, bucket: str, verifier: ClaimVerifier | None) -> None:
        self._bucket = bucket
        self._verifier = verifier

    def __call__(self, prepared: PreparedPrompt, deadline: Deadline, whole: str | None = None) -> AnswerReader:
        """A reader for the answer to *prepared*; of a *whole* answer all open sentences are judged at once."""
        ask = AskVerifier(self._verifier, deadline) if self._verifier is not None else None
        if ask is not None and whole is not None:
            ask.all_at_once(partial(self._reader(prepared, ask).read, whole))
        return self._reader(prepared, ask)

    def _reader(self, prepared: PreparedPrompt, ask: AskVerifier | None) -> AnswerReader:
        return AnswerReader(
            prepared.shown.segments,
            bucket=self._bucket,
            policy=prepared.policy,
            ask=ask,
            prefix=prepared.prompt.prefix if prepared.prompt else "",
            question=prepared.question,
            untrusted=prepared.untrusted,
        )


class Ask:
    """Answer a question from the caller's documents, every citation checked."""

    def __init__(
        self,
        *,
        prepare: PreparePrompt,
        resolve_view: ResolveQueryView,
        chat: ChatModel,
        receipts: StoreReceipts,
        read: ReadQuestion,
        read_answer: ReadAnswer,
        prices: dict[str, tuple[float, float]],
        tracer: Tracer | None,
    ) -> None:
        self._prepare = prepare
        self._resolve_view = resolve_view
        self._chat = chat
        self._receipts = receipts
        self._read = read
        self._read_answer = read_answer
        self._prices = prices
        self._tracer = tracer

    def __call__(self, question: Question, caller: Caller, deadline: Deadline) -> Answer:
        """Answer *question*; an abstention is an answer with a reason.

        Raises:
            GenerationError: The chat model did not answer.
            ModelNotFoundError: The endpoint does not have the model.
            ForbiddenError: The role may not bring its own prompts.
            The errors of Search.
        """
        timer = Timer(self._tracer)
        for _ in range(TRIES):
            prepared, completion = self._completed(question, caller, deadline, timer)
            if prepared.prompt is None or completion is None:
                answer = _refused(prepared)
                break
            with timer.stage("check"):
                reader = self._read_answer(prepared, deadline, completion.text)
                reader.feed(completion.text)
                answer = self._finished(prepared, prepared.prompt, reader, completion, question, deadline)
                if self._still_true(answer.citations, question, caller, deadline):
                    break
        else:
            answer = replace(_abstention("insufficient_information", prepared), warnings=[CHANGED])
        answer = replace(answer, timings_ms=timer.stages, **self._spent(question))
        return self._receipts.store(answer, question, caller, prompt=prepared.prompt, timings_ms=timer.stages)

    def stream(self, question: Question, caller: Caller, deadline: Deadline) -> Iterator[AskEvent]:
        """The same, as it comes: what was found, text and checked citations, then the whole answer.

        Closing the iterator stops the model.  An answer whose cited documents changed meanwhile ends as an abstention.

        Raises:
            The errors of a plain call; after the first event too.
        """
        timer = Timer(self._tracer)
        prepared = self._prepare(question, caller, deadline)
        yield SourcesFound(prepared.retrieval, prepared.shown)
        pieces: Iterator[str | Completion] = iter(())
        if prepared.prompt is not None:
            with timer.stage("generate"):
                try:
                    pieces = self._begun(prepared.prompt, prepared, question, deadline)
                except GenerationError as exc:
                    prepared = self._prepare(_shortened(question, prepared, exc), caller, deadline)
                    if prepared.prompt is not None:
                        yield SourcesFound(prepared.retrieval, prepared.shown)
                        pieces = self._begun(prepared.prompt, prepared, question, deadline)
        if prepared.prompt is None:
            answer = _refused(prepared)
            if prepared.computed is not None:
                yield answer.text
                yield from answer.citations
                yield from answer.claims
        else:
            reader = self._read_answer(prepared, deadline)
            completion: Completion | None = None
            with timer.stage("generate"):
                for piece in pieces:
                    if isinstance(piece, Completion):
                        completion = piece
                    else:
                        yield from reader.feed(piece)
            assert completion is not None  # noqa: S101 - the port's last word, or it raised
            yield from reader.finish()
            with timer.stage("check"):
                answer = self._finished(prepared, prepared.prompt, reader, completion, question, deadline)
                if not self._still_true(answer.citations, question, caller, deadline):
                    answer = replace(_abstention("insufficient_information", prepared), warnings=[CHANGED])
        answer = replace(answer, timings_ms=timer.stages, **self._spent(question))
        yield self._receipts.store(answer, question, caller, prompt=prepared.prompt, timings_ms=timer.stages)

    def _spent(self, question: Question) -> dict[str, Any]:
        """What the calls that were noted for *question* used, and those that condensed it."""
        return spent([*question.calls, *calls_so_far()], self._prices)

    def _completed(
        self, question: Question, caller: Caller, deadline: Deadline, timer: Timer, *, again: bool = True
    ) -> tuple[PreparedPrompt, Completion | None]:
        """The prompt and what the model made of it, None without a prompt; one that is too long is shortened once."""
        prepared = self._prepare(question, caller, deadline)
        if prepared.prompt is None:
            return prepared, None
        try:
            with timer.stage("generate"):
                return prepared, self._chat.complete(
                    prepared.prompt.messages, max_tokens=prepared.answer_tokens, deadline=deadline, model=question.model
                )
        except GenerationError as exc:
            if not again:
                raise
            question = _shortened(question, prepared, exc)
        return self._completed(question, caller, deadline, timer, again=False)

    def _begun(
        self, prompt: Prompt, prepared: PreparedPrompt, question: Question, deadline: Deadline
    ) -> Iterator[str | Completion]:
        """The pieces of an answer, once the first has come."""
        pieces = iter(
            self._chat.stream(
                prompt.messages, max_tokens=prepared.answer_tokens, deadline=deadline, model=question.model
            )
        )
        return itertools.chain([next(pieces)], pieces)

    def _finished(
        self,
        prepared: PreparedPrompt,
        prompt: Prompt,
        reader: AnswerReader,
        completion: Completion,
        question: Question,
        deadline: Deadline,
    ) -> Answer:
        reader.finish()
        cited = reader.answer
        verdict = AnswersQuestion()
        if cited.reason is None:
            said = " ".join(claim.text for claim in cited.claims if claim.status != "missing")
            about = above(cited.citations[0].hit) if cited.citations else ""
            verdict = self._read.verdict(question.query.text, said, deadline, about=about, read=prepared.read)
        withheld = verdict.status == "no" and not question.answer_anyway
        reason = "insufficient_information" if withheld else cited.reason
        return Answer(
            text=abstention(reason, question.query.text) if reason else cited.text,
            retrieval=prepared.retrieval,
            prompt_version=prompt.version,
            citations=cited.citations if reason is None else [],
            claims=cited.claims if not withheld else [],
            shown=prepared.shown,
            warnings=[*_warnings(prepared, completion), *reader.warnings, *_untrusted(cited.claims)]
            + (_advice(prepared) if reason else []),
            abstain_reason=reason,
            answers=verdict,
            closest=closest_passages(prepared.read, prepared.retrieval) if reason else [],
            model=completion.model,
            finish_reason=completion.finish_reason,
        )

    def _still_true(self, citations: list[Citation], question: Question, caller: Caller, deadline: Deadline) -> bool:
        """Whether every cited revision still counts: the model takes seconds, a delete does not wait."""
        hits = [citation.hit for citation in citations]
        if not hits:
            return True
        view = self._resolve_view(question.query, caller, deadline, None)
        heads = view.heads(list(dict.fromkeys(hit.key for hit in hits)), deadline)
        return len(verified(hits, heads.found)) == len(hits)


def _shortened(question: Question, prepared: PreparedPrompt, error: GenerationError) -> Question:
    """*question* with room for half of its prompt, where that was too long; else raises *error*."""
    if error.details.get("reason") != CONTEXT_LENGTH or prepared.prompt is None:
        raise error
    used = sum(estimate_tokens(message.content) for message in prepared.prompt.messages)
    return replace(question, max_context_tokens=prepared.answer_tokens + used // 2)


def _refused(prepared: PreparedPrompt) -> Answer:
    """What is said without a model: a table's answer, or that nothing was found, or nothing that may answer."""
    if prepared.computed is not None:
        return prepared.computed
    reason: AbstainReason = "no_relevant_context" if prepared.retrieval.abstained else "insufficient_information"
    return _abstention(reason, prepared)


def _abstention(reason: AbstainReason, prepared: PreparedPrompt) -> Answer:
    closest = closest_passages(prepared.read, prepared.retrieval)
    warnings = [*prepared.read.warnings, *_advice(prepared)]
    said = abstention(reason, prepared.question)
    return Answer(said, prepared.retrieval, "", abstain_reason=reason, closest=closest, warnings=warnings)


def _warnings(prepared: PreparedPrompt, completion: Completion) -> list[str]:
    found = [*prepared.read.warnings]
    cut = [one.key.vault_path for one in prepared.shown.excluded if one.reason == CUT]
    critical = {document.key.vault_path for document in prepared.retrieval.critical}
    if critical & set(cut):
        found.append(f"too long for the budget, and shown in part: {', '.join(sorted(critical & set(cut)))}")
    if completion.finish_reason == "length":
        found.append(f"the answer was cut off after {prepared.answer_tokens} tokens")
    if completion.finish_reason == "content_filter":
        found.append("the chat service's content filter cut the answer off")
    return found


def _advice(prepared: PreparedPrompt) -> list[str]:
    """What may help where there is no answer: the words that no passage has, and what the prompt had no room for."""
    absent = absent_words(prepared.question, prepared.retrieval)
    cut = sorted({one.key.vault_path for one in prepared.shown.excluded})
    found = [f"no passage that was found has: {', '.join(absent)}"] if absent else []
    return found + ([f"no room in the prompt (max_context_tokens) for all of: {', '.join(cut)}"] if cut else [])


def _untrusted(claims: Sequence[CheckedSentence]) -> list[str]:
    return [STRANGERS] if any(claim.untrusted for claim in claims) else []


class ObservedAsk:
    """An Ask that refuses a tenant which used its tokens of the day, and that reports.

    Reports are metrics, counts and one log line of every question, also of a refused one, or of a stream left early.

    Args:
        ask: Answers; it searches from the fallback down (query/pipeline.py), so that one question is reported once.
        budget: Refuses before anything is searched or generated.
        observe: Takes the report of every question, once.
        prices: By chat model, of a million tokens read and written.
        operation: What its reports are called.
        tracer: Takes a span around each answer, with the id of its receipt.
        stopwatch: Seconds on a monotonic clock.
    """

    def __init__(
        self,
        ask: Ask,
        *,
        budget: DailyBudget,
        observe: Observe,
        prices: Mapping[str, tuple[float, float]],
        operation: Operation = "ask",
        tracer: Tracer | None = None,
        stopwatch: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._ask = ask
        self._budget = budget
        self._observe = observe
        self._prices = prices
        self._operation = operation
        self._tracer = tracer
        self._stopwatch = stopwatch

    def __call__(self, question: Question, caller: Caller, deadline: Deadline) -> Answer:
        """Answer *question*; raises RateLimitedError, and what Ask raises."""
        start_s = self._stopwatch()
        answer: Answer | None = None
        error: BaseException | None = None
        with noted_calls() as calls, self._workflow() as note:
            try:
                self._budget.check_tokens(caller.tenant)
                answer = self._ask(question, caller, deadline)
                note(_span_of_answer(answer))
            except BaseException as exc:
                error = exc
                raise
            finally:
                self._report(question, caller, start_s, calls, answer=answer, error=error)
        return answer

    def stream(self, question: Question, caller: Caller, deadline: Deadline) -> Generator[AskEvent, None, None]:
        """The same, as it comes; a listener who left early is a query like any other, without an answer."""
        return in_one_context(self._stream(question, caller, deadline))

    def _stream(self, question: Question, caller: Caller, deadline: Deadline) -> Generator[AskEvent, None, None]:
        start_s = self._stopwatch()
        found: Retrieval | None = None
        answer: Answer | None = None
        error: BaseException | None = None
        with noted_calls() as calls, self._workflow() as note:
            try:
                self._budget.check_tokens(caller.tenant)
                for event in self._ask.stream(question, caller, deadline):
                    found = event.retrieval if isinstance(event, SourcesFound) else found
                    if isinstance(event, Answer):
                        answer = event
                        note(_span_of_answer(event))
                    yield event
            except GeneratorExit:
                raise
            except BaseException as exc:
                error = exc
                raise
            finally:
                self._report(question, caller, start_s, calls, found=found, answer=answer, error=error)

    def _workflow(self) -> AbstractContextManager[Callable[[SpanFields], None]]:
        fields = {"gen_ai.operation.name": "invoke_workflow", "gen_ai.workflow.name": self._operation}
        return traced(self._tracer, f"invoke_workflow {self._operation}", fields)

    def _report(
        self,
        question: Question,
        caller: Caller,
        start_s: float,
        calls: Sequence[ModelCall],
        *,
        found: Retrieval | None = None,
        answer: Answer | None,
        error: BaseException | None,
    ) -> None:
        taken_ms = (self._stopwatch() - start_s) * 1_000
        found = answer.retrieval if answer is not None else found
        report = report_of(self._operation, question.query, caller, taken_ms, found=found, error=error)
        if answer is not None:
            report = _with_answer(report, answer)
        if calls := [*question.calls, *calls]:
            report = replace(report, **spent(calls, self._prices))
        self._observe(report, question.query.text)


def _span_of_answer(answer: Answer) -> SpanFields:
    """The receipt by which an answer of a trace is found, and why it abstained."""
    return {"ragdrop.receipt.id": answer.id, "ragdrop.abstain_reason": answer.abstain_reason}


def _with_answer(report: QueryReport, answer: Answer) -> QueryReport:
    return replace(
        report,
        abstain_reason=answer.abstain_reason,
        timings_ms={**answer.timings_ms, **report.timings_ms},
        answered=answer.model is not None or answer.table is not None,
    )
