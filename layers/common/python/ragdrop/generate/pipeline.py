"""The ask pipeline: what wraps an ask, plain or streamed, top to bottom.

observed    metrics, counts and one log line of every question, also of a stream that was left early
budgeted    refuses a tenant that used its tokens of the day
ask         search (from its fallback down, see query/pipeline.py), prompt, chat, citations, receipt
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from ragdrop.domain.answers import Answer, Question
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.models import spent
from ragdrop.domain.retrieval import Retrieval
from ragdrop.domain.tenants import Caller
from ragdrop.generate.ask import Answering, AskEvent, SourcesFound
from ragdrop.ports.telemetry import Operation, QueryReport
from ragdrop.query.pipeline import Observe, report_of
from ragdrop.tenants.limits import DailyBudget

Prices = Mapping[str, tuple[float, float]]


def ask_pipeline(
    ask: Answering, *, budget: DailyBudget, observe: Observe, prices: Prices, operation: Operation = "ask"
) -> ObservedAsk:
    """Wrap *ask*; *operation* is its name in metrics and logs."""
    return ObservedAsk(BudgetedAsk(ask, budget), observe, prices=prices, operation=operation)


class ObservedAsk:
    """An Ask that reports.

    Args:
        ask: What is observed.
        observe: Is told of every question, once.
        prices: By chat model, of a million tokens read and written.
        operation: What its reports are called.
        stopwatch: Seconds on a monotonic clock.
    """

    def __init__(
        self,
        ask: Answering,
        observe: Observe,
        *,
        prices: Prices,
        operation: Operation = "ask",
        stopwatch: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._ask = ask
        self._observe = observe
        self._prices = prices
        self._operation = operation
        self._stopwatch = stopwatch

    def __call__(self, question: Question, caller: Caller, deadline: Deadline) -> Answer:
        """Answer *question*; raises what Ask raises."""
        start_s = self._stopwatch()
        answer: Answer | None = None
        error: BaseException | None = None
        try:
            answer = self._ask(question, caller, deadline)
        except BaseException as exc:
            error = exc
            raise
        finally:
            self._tell(question, caller, start_s, found=None, answer=answer, error=error)
        return answer

    def stream(self, question: Question, caller: Caller, deadline: Deadline) -> Iterator[AskEvent]:
        """The same, as it comes; a listener who left early is a query like any other, without an answer."""
        start_s = self._stopwatch()
        found: Retrieval | None = None
        answer: Answer | None = None
        error: BaseException | None = None
        try:
            for event in self._ask.stream(question, caller, deadline):
                found = event.retrieval if isinstance(event, SourcesFound) else found
                answer = event if isinstance(event, Answer) else answer
                yield event
        except GeneratorExit:
            raise
        except BaseException as exc:
            error = exc
            raise
        finally:
            self._tell(question, caller, start_s, found=found, answer=answer, error=error)

    def _tell(
        self,
        question: Question,
        caller: Caller,
        start_s: float,
        *,
        found: Retrieval | None,
        answer: Answer | None,
        error: BaseException | None,
    ) -> None:
        taken_ms = (self._stopwatch() - start_s) * 1_000
        found = answer.retrieval if answer is not None else found
        report = report_of(self._operation, question.query, caller, taken_ms, found=found, error=error)
        if answer is not None:
            report = _with_answer(report, answer)
        elif calls := (*question.calls, *(found.calls if found is not None else ())):
            report = replace(report, **spent(calls, self._prices))
        self._observe(report, question.query.text)


def _with_answer(report: QueryReport, answer: Answer) -> QueryReport:
    return replace(
        report,
        abstain_reason=answer.abstain_reason,
        timings_ms={**answer.timings_ms, **report.timings_ms},
        answered=answer.model is not None,
        prompt_tokens=answer.prompt_tokens,
        completion_tokens=answer.completion_tokens,
        cost=answer.cost,
    )


class BudgetedAsk:
    """An Ask that refuses before anything is searched or said."""

    def __init__(self, ask: Answering, budget: DailyBudget) -> None:
        self._ask = ask
        self._budget = budget

    def __call__(self, question: Question, caller: Caller, deadline: Deadline) -> Answer:
        """Answer *question*; raises RateLimitedError, and what Ask raises."""
        self._budget.check_tokens(caller.tenant)
        return self._ask(question, caller, deadline)

    def stream(self, question: Question, caller: Caller, deadline: Deadline) -> Iterator[AskEvent]:
        """The same, as it comes."""
        self._budget.check_tokens(caller.tenant)
        yield from self._ask.stream(question, caller, deadline)
