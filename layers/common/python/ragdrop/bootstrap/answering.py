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
    from ragdrop.generate.ask import Ask
    from ragdrop.generate.pipeline import BudgetedAsk, ObservedAsk
    from ragdrop.generate.prompt import CondenseConversation, PreparePrompt
    from ragdrop.generate.receipts import KeepReceipts
    from ragdrop.operate.observe import ObserveQueries
    from ragdrop.query.cache import CachedSearch
    from ragdrop.query.fallback import FallbackSearch, SnapshotSearch
    from ragdrop.query.follow_links import FollowLinks
    from ragdrop.query.model_ranking import RankFolders, Rerank
    from ragdrop.query.pipeline import ObservedSearch
    from ragdrop.query.query_vectors import QueryVectors
    from ragdrop.query.search import Search
    from ragdrop.tenants.daily_budget import DailyBudget
    from ragdrop.tenants.directory import Directory


class AnsweringParts(GuardedParts):
    """Use cases that read."""

    @cached_property
    def directory(self) -> Directory:
        """Callers and tenants."""
        from ragdrop.tenants.directory import Directory
        from ragdrop.tenants.rate_limits import LimitRequests

        limits = LimitRequests(lambda: self.request_counts, clock=self.clock)
        return Directory(self.guarded_registry, limits=limits, tokens=lambda: self.tokens, clock=self.clock)

    @cached_property
    def follow_links(self) -> FollowLinks:
        """Following links from the documents found."""
        from ragdrop.query.follow_links import FollowLinks

        return FollowLinks(
            registry=self.guarded_registry, index=self.guarded_index, visited=self.visited, clock=self.clock
        )

    @cached_property
    def query_vectors(self) -> QueryVectors:
        """Vectors of questions."""
        from ragdrop.query.query_vectors import QueryVectors

        size = self.settings.embedding_cache_size
        return QueryVectors(embedder=self.guarded_embedder, store=self.telemetry, size=size, clock=self.clock)

    @cached_property
    def rank_folders(self) -> RankFolders:
        """Folders by the chat model."""
        from ragdrop.query.model_ranking import RankFolders

        return RankFolders(registry=self.guarded_registry, chat=self.guarded_chat)

    @cached_property
    def rerank(self) -> Rerank:
        """The reranker's order, where RERANK_URL names one."""
        from ragdrop.query.model_ranking import Rerank

        return Rerank(self.guarded_reranker)

    @cached_property
    def uncached_search(self) -> Search:
        """Search."""
        from ragdrop.query.search import Search

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
        from ragdrop.query.pipeline import ObservedSearch

        return ObservedSearch(self.fallback_search, self.observe_queries)

    @cached_property
    def observe_queries(self) -> ObserveQueries:
        """A log line and counts of every query."""
        from ragdrop.operate.observe import ObserveQueries, QueryCounter

        counter = QueryCounter(self.telemetry, clock=self.clock)
        return ObserveQueries(counter, self.telemetry, metrics=self.metrics, clock=self.clock)

    @cached_property
    def fallback_search(self) -> FallbackSearch:
        """Search with the fallback chain behind it."""
        from ragdrop.query.fallback import FallbackSearch

        def snapshot(query: Query, caller: Caller, deadline: Deadline) -> Retrieval:
            return self.snapshot_search(query, caller, deadline)  # made, and SQLite imported, when it is first wanted

        return FallbackSearch(self.cached_search, metrics=self.metrics, snapshot=snapshot)

    @cached_property
    def snapshot_search(self) -> SnapshotSearch:
        """Search while the index is down."""
        from ragdrop.query.fallback import SnapshotSearch
        from ragdrop.query.follow_links import FollowLinks
        from ragdrop.query.search import Search

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
        from ragdrop.query.cache import CachedSearch
        from ragdrop.query.fallback import UnlessOpen
        from ragdrop.query.usage import UsageCounter

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
        from ragdrop.generate.prompt import PreparePrompt

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
        from ragdrop.generate.receipts import KeepReceipts

        return KeepReceipts(receipts=self.receipts, registry=self.guarded_registry, clock=self.clock)

    @cached_property
    def ask(self) -> ObservedAsk:
        """Ask as callers have it, every end of it told."""
        from ragdrop.generate.pipeline import ObservedAsk

        return ObservedAsk(self.budgeted_ask, self.observe_queries)

    @cached_property
    def converse(self) -> ObservedAsk:
        """Ask for clients of the OpenAI protocol."""
        from ragdrop.generate.pipeline import ObservedAsk

        return ObservedAsk(self.budgeted_ask, self.observe_queries, operation="chat")

    @cached_property
    def budgeted_ask(self) -> BudgetedAsk:
        """Ask, while the tenant has tokens left today."""
        from ragdrop.generate.pipeline import BudgetedAsk

        return BudgetedAsk(self.unobserved_ask, self.daily_budget)

    @cached_property
    def daily_budget(self) -> DailyBudget:
        """What tenants may use in a day."""
        from ragdrop.tenants.daily_budget import DailyBudget

        return DailyBudget(directory=self.directory, store=self.telemetry, clock=self.clock)

    @cached_property
    def unobserved_ask(self) -> Ask:
        """Ask."""
        from ragdrop.generate.ask import Ask

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
        from ragdrop.generate.prompt import CondenseConversation

        return CondenseConversation(self.guarded_chat)
