"""Budgeted ask: an answer only while the tenant has tokens left today."""

from __future__ import annotations

from collections.abc import Iterator

from ragdrop.domain.answers import Answer
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.questions import Question
from ragdrop.domain.tenants import Caller
from ragdrop.usecases.ask import Answering, AskEvent
from ragdrop.usecases.daily_budget import DailyBudget


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
