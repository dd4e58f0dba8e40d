"""Ask: search, show what fits to the chat model, resolve and check its citations, look once more, answer."""

from __future__ import annotations

from dataclasses import dataclass

from ragdrop.domain.answers import ABSTENTIONS, AbstainReason, Answer, Citation
from ragdrop.domain.budget import document_tokens, fit
from ragdrop.domain.citations import cite
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.retrieval import Query, Retrieval, verified
from ragdrop.domain.tenants import Caller
from ragdrop.ports import ChatModel, Prompter, Registry
from ragdrop.usecases.cached_search import Searching

TRIES = 2  # a document that changes while the model writes makes the answer begin again, once


@dataclass(frozen=True, slots=True)
class TokenBudget:
    """Tokens: `context` is the whole, `answer` and `prompt` are kept free in it."""

    context: int
    answer: int
    prompt: int


class Ask:
    """Answer a question from the caller's documents, every citation resolved."""

    def __init__(
        self,
        *,
        search: Searching,
        registry: Registry,
        chat: ChatModel,
        prompter: Prompter,
        budget: TokenBudget,
        bucket: str,
    ) -> None:
        self._search = search
        self._registry = registry
        self._chat = chat
        self._prompter = prompter
        self._budget = budget
        self._bucket = bucket

    def __call__(self, query: Query, caller: Caller, deadline: Deadline) -> Answer:
        """Answer *query*; an abstention is an answer with a reason.

        Raises:
            GenerationError: The chat model did not answer.
            ModelNotFoundError: The endpoint does not have the model.
            The errors of Search.
        """
        for _ in range(TRIES):
            answer = self._answer(query, caller, deadline)
            if self._still_true(answer.citations, deadline):
                return answer
        return self._abstain("insufficient_information", answer.retrieval)

    def _answer(self, query: Query, caller: Caller, deadline: Deadline) -> Answer:
        retrieval = self._search(query, caller, deadline)
        if retrieval.abstained:
            return self._abstain("no_relevant_context", retrieval)
        budget = self._budget
        tokens = document_tokens(
            context=budget.context, answer=budget.answer, prompt=budget.prompt, system_prompt=self._prompter.system
        )
        shown = fit([*retrieval.critical, *retrieval.documents], tokens=tokens)
        messages = self._prompter.render(query.text, shown.segments)
        completion = self._chat.complete(messages, max_tokens=budget.answer, deadline=deadline)
        cited = cite(completion.text, shown.segments, bucket=self._bucket)
        return Answer(
            text=ABSTENTIONS[cited.reason] if cited.reason else cited.text,
            retrieval=retrieval,
            prompt_version=self._prompter.version,
            citations=cited.citations,
            shown=shown.documents,
            segments=shown.segments,
            excluded=shown.excluded,
            abstain_reason=cited.reason,
            model=completion.model,
            finish_reason=completion.finish_reason,
            prompt_tokens=completion.prompt_tokens,
            completion_tokens=completion.completion_tokens,
        )

    def _abstain(self, reason: AbstainReason, retrieval: Retrieval) -> Answer:
        return Answer(ABSTENTIONS[reason], retrieval, self._prompter.version, abstain_reason=reason)

    def _still_true(self, citations: list[Citation], deadline: Deadline) -> bool:
        """Whether every cited revision is still the live one: the model takes seconds, a delete does not wait."""
        hits = [citation.hit for citation in citations]
        if not hits:
            return True
        heads = self._registry.heads(list(dict.fromkeys(hit.key for hit in hits)), deadline)
        return len(verified(hits, heads.found)) == len(hits)
