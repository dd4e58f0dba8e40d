"""What answers questions: search and ask."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from ragdrop.bootstrap.guarding import GuardedParts

if TYPE_CHECKING:
    from ragdrop.domain.deadlines import Deadline
    from ragdrop.domain.queries import Query
    from ragdrop.domain.retrieval import Retrieval
    from ragdrop.domain.tenants import Caller
    from ragdrop.usecases.ask import Ask
    from ragdrop.usecases.budgeted_ask import BudgetedAsk
    from ragdrop.usecases.cached_search import CachedSearch
    from ragdrop.usecases.condense_conversation import CondenseConversation
    from ragdrop.usecases.daily_budget import DailyBudget
    from ragdrop.usecases.fallback_search import FallbackSearch
    from ragdrop.usecases.follow_links import FollowLinks
    from ragdrop.usecases.keep_receipts import KeepReceipts
    from ragdrop.usecases.observe_queries import ObserveQueries
    from ragdrop.usecases.observed_ask import ObservedAsk
    from ragdrop.usecases.observed_search import ObservedSearch
    from ragdrop.usecases.prepare_prompt import PreparePrompt
    from ragdrop.usecases.query_vectors import QueryVectors
    from ragdrop.usecases.rank_folders import RankFolders
    from ragdrop.usecases.rerank import Rerank
    from ragdrop.usecases.search import Search
    from ragdrop.usecases.snapshot_search import SnapshotSearch
    from ragdrop.usecases.tenants import Directory


class AnsweringParts(GuardedParts):
    """Use cases that read."""

    @cached_property
    def directory(self) -> Directory:
        """Callers and tenants."""
        from ragdrop.usecases.limit_requests import LimitRequests
        from ragdrop.usecases.tenants import Directory

        limits = LimitRequests(lambda: self.request_counts, clock=self.clock)
        return Directory(self.guarded_registry, limits=limits, tokens=lambda: self.tokens, clock=self.clock)

    @cached_property
    def follow_links(self) -> FollowLinks:
        """Following links from the documents found."""
        from ragdrop.usecases.follow_links import FollowLinks

        return FollowLinks(
            registry=self.guarded_registry, index=self.guarded_index, visited=self.visited, clock=self.clock
        )

    @cached_property
    def query_vectors(self) -> QueryVectors:
        """Vectors of questions."""
        from ragdrop.usecases.query_vectors import QueryVectors

        size = self.settings.embedding_cache_size
        return QueryVectors(embedder=self.guarded_embedder, store=self.telemetry, size=size, clock=self.clock)

    @cached_property
    def rank_folders(self) -> RankFolders:
        """Folders by the chat model."""
        from ragdrop.usecases.rank_folders import RankFolders

        return RankFolders(registry=self.guarded_registry, chat=self.guarded_chat)

    @cached_property
    def rerank(self) -> Rerank:
        """The reranker's order, where RERANK_URL names one."""
        from ragdrop.usecases.rerank import Rerank

        return Rerank(self.guarded_reranker)

    @cached_property
    def uncached_search(self) -> Search:
        """Search."""
        from ragdrop.usecases.search import Search

        return Search(
            registry=self.guarded_registry,
            index=self.guarded_index,
            query_vectors=self.query_vectors,
            directory=self.directory,
            environment=self.settings.tunables(),
            rank_folders=self.rank_folders,
            rerank=self.rerank,
            follow_links=self.follow_links,
            tracer=self.tracer,
        )

    @cached_property
    def search(self) -> ObservedSearch:
        """Search as callers have it, every end of it told."""
        from ragdrop.usecases.observed_search import ObservedSearch

        return ObservedSearch(self.fallback_search, self.observe_queries)

    @cached_property
    def observe_queries(self) -> ObserveQueries:
        """A log line and counts of every query."""
        from ragdrop.usecases.observe_queries import ObserveQueries
        from ragdrop.usecases.query_counter import QueryCounter

        counter = QueryCounter(self.telemetry, clock=self.clock)
        return ObserveQueries(counter, self.telemetry, metrics=self.metrics, clock=self.clock)

    @cached_property
    def fallback_search(self) -> FallbackSearch:
        """Search with the fallback chain behind it."""
        from ragdrop.usecases.fallback_search import FallbackSearch

        def snapshot(query: Query, caller: Caller, deadline: Deadline) -> Retrieval:
            return self.snapshot_search(query, caller, deadline)  # made, and SQLite imported, when it is first wanted

        return FallbackSearch(self.cached_search, metrics=self.metrics, snapshot=snapshot)

    @cached_property
    def snapshot_search(self) -> SnapshotSearch:
        """Search while the index is down."""
        from ragdrop.usecases.follow_links import FollowLinks
        from ragdrop.usecases.search import Search
        from ragdrop.usecases.snapshot_search import SnapshotSearch

        registry, index = self.guarded_registry, self.snapshot_index
        search = Search(
            registry=registry,
            index=index,
            query_vectors=self.query_vectors,
            directory=self.directory,
            environment=self.settings.tunables(),
            rank_folders=self.rank_folders,
            rerank=self.rerank,
            follow_links=FollowLinks(registry=registry, index=index, visited=self.visited, clock=self.clock),
            tracer=self.tracer,
        )
        return SnapshotSearch(search=search, snapshots=index, clock=self.clock)

    @cached_property
    def cached_search(self) -> CachedSearch:
        """Search that remembers its answers."""
        from ragdrop.usecases.cached_search import CachedSearch
        from ragdrop.usecases.fallback_search import UnlessOpen
        from ragdrop.usecases.usage_counter import UsageCounter

        return CachedSearch(
            search=UnlessOpen(self.uncached_search, self.breakers),
            registry=self.guarded_registry,
            directory=self.directory,
            usage=UsageCounter(self.telemetry, clock=self.clock),
            query_vectors=self.query_vectors,
            size=self.settings.cache_size,
            ttl_s=self.settings.cache_ttl_s,
            clock=self.clock,
        )

    @cached_property
    def prepare_prompt(self) -> PreparePrompt:
        """From a question to the messages that the model gets."""
        from ragdrop.usecases.prepare_prompt import PreparePrompt

        return PreparePrompt(
            search=self.fallback_search,
            directory=self.directory,
            prompter=self.prompter,
            environment=self.settings.tunables(),
            models=self.settings.chat_models,
        )

    @cached_property
    def keep_receipts(self) -> KeepReceipts:
        """Receipts of answers."""
        from ragdrop.usecases.keep_receipts import KeepReceipts

        return KeepReceipts(receipts=self.receipts, registry=self.guarded_registry, clock=self.clock)

    @cached_property
    def ask(self) -> ObservedAsk:
        """Ask as callers have it, every end of it told."""
        from ragdrop.usecases.observed_ask import ObservedAsk

        return ObservedAsk(self.budgeted_ask, self.observe_queries)

    @cached_property
    def converse(self) -> ObservedAsk:
        """Ask for clients of the OpenAI protocol."""
        from ragdrop.usecases.observed_ask import ObservedAsk

        return ObservedAsk(self.budgeted_ask, self.observe_queries, operation="chat")

    @cached_property
    def budgeted_ask(self) -> BudgetedAsk:
        """Ask, while the tenant has tokens left today."""
        from ragdrop.usecases.budgeted_ask import BudgetedAsk

        return BudgetedAsk(self.unobserved_ask, self.daily_budget)

    @cached_property
    def daily_budget(self) -> DailyBudget:
        """What tenants may use in a day."""
        from ragdrop.usecases.daily_budget import DailyBudget

        return DailyBudget(directory=self.directory, store=self.telemetry, clock=self.clock)

    @cached_property
    def unobserved_ask(self) -> Ask:
        """Ask."""
        from ragdrop.usecases.ask import Ask

        return Ask(
            prepare=self.prepare_prompt,
            registry=self.guarded_registry,
            chat=self.guarded_chat,
            receipts=self.keep_receipts,
            bucket=self.settings.document_bucket,
            prices=self.settings.chat_prices,
            tracer=self.tracer,
        )

    @cached_property
    def condense_conversation(self) -> CondenseConversation:
        """One question out of a conversation."""
        from ragdrop.usecases.condense_conversation import CondenseConversation

        return CondenseConversation(self.guarded_chat)
