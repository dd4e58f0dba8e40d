"""Prepare a prompt: search, fit the budget, render the messages; condense conversations."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

from ragdrop.domain.answers import Question, Shown
from ragdrop.domain.deadlines import CONDENSE, Deadline
from ragdrop.domain.models import ModelCall, chat_window_tokens
from ragdrop.domain.retrieval import Retrieval
from ragdrop.domain.settings import Tunables
from ragdrop.domain.tenants import Caller
from ragdrop.errors import DependencyError, ForbiddenError, InvalidParamsError
from ragdrop.generate.budget import context_for, document_tokens, fit, smallest_cost
from ragdrop.generate.citations import CitationPolicy
from ragdrop.generate.conversations import (
    INSTRUCTIONS,
    Turn,
    condensing_request,
    is_standalone,
    last_words,
    read_condensed,
)
from ragdrop.ports.model_services import ChatModel, Message, Prompt, Prompter, PromptRequest
from ragdrop.query.cache import Searching
from ragdrop.tenants.directory import TenantDirectory
from ragdrop.tenants.settings_in_force import in_force


@dataclass(frozen=True, slots=True)
class PreparedPrompt:
    """All that an answer needs; `prompt` is None where nothing relevant was found."""

    retrieval: Retrieval
    shown: Shown = field(default_factory=Shown)
    prompt: Prompt | None = None
    answer_tokens: int = 0
    policy: CitationPolicy = "mark"
    question: str = ""


class PreparePrompt:
    """Retrieves in process, admits to the budget, renders."""

    def __init__(
        self,
        *,
        search: Searching,
        directory: TenantDirectory,
        prompter: Prompter,
        environment: Tunables,
        models: tuple[str, ...],
    ) -> None:
        self._search = search
        self._directory = directory
        self._prompter = prompter
        self._environment = environment
        self._models = models

    def __call__(self, question: Question, caller: Caller, deadline: Deadline) -> PreparedPrompt:
        """Retrieve and render.

        Raises:
            ForbiddenError: The role may not bring its own prompts.
            InvalidParamsError: The model is not one of CHAT_MODELS, a prompt of the request does not render, or the
                context has no room for a single chunk.
            DependencyError: Nothing could be searched.
            The errors of Search.
        """
        if (question.system_prompt or question.prompt_template) and caller.role != "admin":
            raise ForbiddenError(
                f"system_prompt and prompt_template need the role admin, the key has {caller.role}",
                role=caller.role,
                needed="admin",
            )
        if question.model is not None and question.model not in self._models:
            raise InvalidParamsError(
                f"model: {question.model[:100]!r} is not a model of this deployment",
                field="model",
                value=question.model[:100],
                allowed=list(self._models),
            )
        retrieval = self._search(question.query, caller, deadline)
        if retrieval.cause is not None:  # "nothing found" would be a lie
            raise retrieval.cause
        if retrieval.abstained:
            return PreparedPrompt(retrieval)
        tenant = self._directory.tenant(caller.tenant)
        asked = {"max_context_tokens": question.max_context_tokens}
        own = tenant.settings_of(None) if tenant else {}
        values = (
            in_force(self._environment, tenant, vaults=question.query.vaults, request=asked).values
            if tenant
            else self._environment
        )
        style = question.style or question.query.detail
        system_prompt = question.system_prompt or own.get("system_prompt")
        context = min(values.max_context_tokens, chat_window_tokens(question.model or self._models[0]))
        instructions = self._prompter.system(style, system_prompt)
        tokens = document_tokens(
            context=context,
            answer=values.reserved_answer_tokens,
            prompt=values.reserved_prompt_tokens,
            system_prompt=instructions,
        )
        shown = fit(retrieval.critical, retrieval.documents, retrieval.linked, tokens=tokens)
        if not shown.sources:  # a model without sources answers from its training
            smallest = smallest_cost([*retrieval.critical, *retrieval.documents, *retrieval.linked])
            needed = context_for(
                smallest,
                answer=values.reserved_answer_tokens,
                prompt=values.reserved_prompt_tokens,
                system_prompt=instructions,
            )
            raise InvalidParamsError(
                f"max_context_tokens is {context}; at least {needed} are needed for one chunk of what was found",
                field="max_context_tokens",
                value=context,
                allowed={"ge": needed},
            )
        prompt = self._prompter.render(
            PromptRequest(
                question=question.query.text,
                sources=shown.sources,
                style=style,
                system_prompt=system_prompt,
                prompt_template=question.prompt_template or own.get("prompt_template"),
            )
        )
        return PreparedPrompt(
            retrieval, shown, prompt, values.reserved_answer_tokens, values.citation_policy, question.query.text
        )


logger = logging.getLogger(__name__)

ANSWER_TOKENS = 300


class CondenseConversation:
    """Asks the chat model for the question that a conversation ends with."""

    def __init__(self, chat: ChatModel) -> None:
        self._chat = chat

    def __call__(self, turns: Sequence[Turn], deadline: Deadline) -> tuple[str, tuple[ModelCall, ...]]:
        """The question, 1 to 1,000 characters, and the model's calls for it; *turns* end with one of the user's.

        Never fails.
        """
        if is_standalone(turns):
            return turns[0].text.strip(), ()
        messages = [Message("system", INSTRUCTIONS), Message("user", condensing_request(turns))]
        try:
            reply = self._chat.complete(messages, max_tokens=ANSWER_TOKENS, deadline=CONDENSE.of(deadline))
        except DependencyError as exc:
            logger.warning("a conversation could not be condensed", extra={"service": exc.service, "code": exc.code})
            return last_words(turns), ()
        return read_condensed(reply.text) or last_words(turns), (reply.call,)
