"""Ask the chat model for a plan over tables; what it proposes is validated, then computed without it."""

import logging
from collections.abc import Sequence
from datetime import date

from ragdrop.domain.deadlines import PLAN, Deadline
from ragdrop.domain.models import EXTRACTIVE, foundation_model
from ragdrop.errors import DependencyError
from ragdrop.ports.answer_services import Prompter, ShownTable
from ragdrop.ports.model_services import ChatModel
from ragdrop.tables.answer_tables import TableAnswer, answer_of_plan
from ragdrop.tables.asked import read_question
from ragdrop.tables.plans import RefusedPlanError, run_plan
from ragdrop.tables.proposed_plans import InvalidPlanError, column_lines, read_proposed_plan
from ragdrop.tables.typed import TypedTable

logger = logging.getLogger(__name__)

MAX_TABLES = 3  # that the model is shown
MAX_COLUMNS = 40
PLAN_TOKENS = 400


class ProposePlan:
    """Answers by a plan of the chat model, where the question's own words make none.

    Args:
        chat: The chat model.
        prompter: Renders its messages.
        models: Its names; the first is the default.
    """

    def __init__(self, chat: ChatModel, prompter: Prompter, models: Sequence[str]) -> None:
        self._chat = chat
        self._prompter = prompter
        self._models = models

    def __call__(
        self, question: str, tables: Sequence[TypedTable], today: date, deadline: Deadline, model: str | None
    ) -> tuple[TableAnswer, str] | None:
        """The answer to *question* and the model that planned it; None without a valid plan that has a result.

        Never fails.
        """
        asked = read_question(question, today)
        shown = [table for table in tables if len(table.columns) <= MAX_COLUMNS][:MAX_TABLES]
        if asked is None or not shown or foundation_model(model or self._models[0]) == EXTRACTIVE:
            return None
        lines = [ShownTable(table.path, len(table.rows), column_lines(table)) for table in shown]
        messages = self._prompter.plan(question, lines, today.isoformat())
        try:
            reply = self._chat.complete(
                messages, max_tokens=PLAN_TOKENS, deadline=PLAN.of(deadline), model=model, as_json=True
            )
            table, plan = read_proposed_plan(reply.text, shown, asked)
            return answer_of_plan(plan, table, run_plan(plan, table)), reply.call.model
        except DependencyError as exc:
            logger.warning("no plan was proposed", extra={"service": exc.service, "code": exc.code})
        except (InvalidPlanError, RefusedPlanError) as exc:
            logger.info("a proposed plan was refused", extra={"reason": str(exc)})
        return None
