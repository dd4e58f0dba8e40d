"""What answers questions: search and ask."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from ragdrop.bootstrap.adapters import Adapters

if TYPE_CHECKING:
    from ragdrop.usecases.ask import Ask
    from ragdrop.usecases.search import Search
    from ragdrop.usecases.tenants import Directory


class AnsweringParts(Adapters):
    """Use cases that read."""

    @cached_property
    def directory(self) -> Directory:
        """Callers and tenants."""
        from ragdrop.usecases.tenants import Directory

        return Directory(self.registry, clock=self.clock)

    @cached_property
    def search(self) -> Search:
        """Search."""
        from ragdrop.usecases.search import Search

        return Search(
            registry=self.registry,
            index=self.index,
            query_vectors=lambda text, _tenant, space, deadline: self.embedder.query(text, space, deadline),
            directory=self.directory,
            environment=self.settings.tunables(),
        )

    @cached_property
    def ask(self) -> Ask:
        """Ask."""
        from ragdrop.usecases.ask import Ask, TokenBudget

        settings = self.settings
        budget = TokenBudget(
            settings.max_context_tokens, settings.reserved_answer_tokens, settings.reserved_prompt_tokens
        )
        return Ask(
            search=self.search,
            registry=self.registry,
            chat=self.chat,
            prompter=self.prompter,
            budget=budget,
            bucket=settings.document_bucket,
        )
