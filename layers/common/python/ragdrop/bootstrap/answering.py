"""Build what answers questions: tenants, search and ask.

Each part is built, and its module imported, when it is first used.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, cast

from ragdrop.bootstrap.ports import Ports

if TYPE_CHECKING:
    from ragdrop.generate.ask import Ask
    from ragdrop.generate.pipeline import ObservedAsk
    from ragdrop.generate.prompt import CondenseConversation, PreparePrompt
    from ragdrop.generate.store_receipts import StoreReceipts
    from ragdrop.generate.verify import VerifyAnswer
    from ragdrop.operate.observe import ObserveQueries
    from ragdrop.past.as_of import PastViews
    from ragdrop.past.resolve_view import ResolveView
    from ragdrop.ports import LayeredIndex
    from ragdrop.ports.telemetry import Operation
    from ragdrop.query.fallback import BucketSearch
    from ragdrop.query.follow_links import FollowLinks
    from ragdrop.query.model_ranking import ModelRanking, RankFolders
    from ragdrop.query.pipeline import ObservedSearch, SearchPipeline
    from ragdrop.query.query_vectors import QueryVectors
    from ragdrop.query.search import Search
    from ragdrop.query.understand import UnderstandQuery
    from ragdrop.query.view import LiveViews
    from ragdrop.tenants.directory import TenantDirectory
    from ragdrop.tenants.limits import DailyBudget
    from ragdrop.tenants.sign_in import SignInCodes


@dataclass
class TenantParts:
    """Callers, tenants and their budgets."""

    ports: Ports

    @cached_property
    def directory(self) -> TenantDirectory:
        """Callers and tenants."""
        from ragdrop.tenants.directory import TenantDirectory
        from ragdrop.tenants.limits import LimitRequests

        limits = LimitRequests(lambda: self.ports.request_counts, clock=self.ports.clock)
        return TenantDirectory(
            self.ports.guarded_registry, limits=limits, tokens=lambda: self.ports.tokens, clock=self.ports.clock
        )

    @cached_property
    def writers_directory(self) -> TenantDirectory:
        """Tenants, by the registry itself: no breaker that readers opened stops a write."""
        return self.directory.over(self.ports.registry)

    @cached_property
    def daily_budget(self) -> DailyBudget:
        """What tenants may use in a day."""
        from ragdrop.tenants.limits import DailyBudget

        return DailyBudget(tenant=self.directory.tenant, store=self.ports.telemetry, clock=self.ports.clock)

    @cached_property
    def sign_in_codes(self) -> SignInCodes:
        """Codes by which a browser signs in."""
        from ragdrop.tenants.sign_in import SignInCodes

        return SignInCodes(self.ports.kept_replies, clock=self.ports.clock)


@dataclass
class QueryParts:
    """Search, and the steps of it."""

    ports: Ports
    tenants: TenantParts

    @cached_property
    def query_vectors(self) -> QueryVectors:
        """Vectors of questions."""
        from ragdrop.query.query_vectors import QueryVectors

        size = self.ports.settings.embedding_cache_size
        return QueryVectors(
            embedder=self.ports.guarded_embedder, store=self.ports.telemetry, size=size, clock=self.ports.clock
        )

    @cached_property
    def rank_folders(self) -> RankFolders:
        """Folders by the chat model."""
        from ragdrop.query.model_ranking import RankFolders

        return RankFolders(registry=self.ports.guarded_registry, chat=self.ports.guarded_chat)

    @cached_property
    def by_model(self) -> ModelRanking:
        """Folders by the chat model, and the reranker's order where RERANK_URL names one."""
        from ragdrop.query.model_ranking import ModelRanking, Rerank

        return ModelRanking(self.rank_folders, Rerank(self.ports.guarded_reranker))

    @cached_property
    def understand(self) -> UnderstandQuery:
        """Scopes, filters and settings of a query."""
        from ragdrop.query.understand import UnderstandQuery

        return UnderstandQuery(directory=self.tenants.directory, environment=self.ports.settings.tunables())

    @cached_property
    def follow_links(self) -> FollowLinks:
        """Following links from the documents found."""
        from ragdrop.query.follow_links import FollowLinks

        return FollowLinks(visited=self.ports.visited, clock=self.ports.clock)

    @cached_property
    def uncached_search(self) -> Search:
        """Search, of now or of a moment."""
        from ragdrop.query.search import Search

        return Search(
            resolve_view=self.resolve_view,
            query_vectors=self.query_vectors,
            understand=self.understand,
            by_model=self.by_model,
            follow_links=self.follow_links,
            tracer=self.ports.tracer,
        )

    @cached_property
    def live_views(self) -> LiveViews:
        """Views of what is live now."""
        from ragdrop.query.view import LiveViews

        return LiveViews(self.ports.guarded_registry, self.ports.guarded_index, clock=self.ports.clock)

    @cached_property
    def past_views(self) -> PastViews:
        """Views of moments of the past."""
        from ragdrop.past.as_of import PastViews

        return PastViews(
            registry=self.ports.guarded_registry,
            index=cast("LayeredIndex", self.ports.guarded_index),
            revisions=self.ports.revisions,
            directory=self.tenants.directory,
            clock=self.ports.clock,
        )

    @cached_property
    def resolve_view(self) -> ResolveView:
        """What a query may read."""
        from ragdrop.past.resolve_view import ResolveView

        return ResolveView(live=self.live_views, past=self.past_views, directory=self.tenants.directory)

    @cached_property
    def observe_queries(self) -> ObserveQueries:
        """A log line and counts of every query."""
        from ragdrop.operate.observe import ObserveQueries, QueryCounter

        counter = QueryCounter(self.ports.telemetry, clock=self.ports.clock)
        settings = self.ports.settings
        return ObserveQueries(
            counter,
            self.ports.telemetry,
            metrics=self.ports.metrics,
            clock=self.ports.clock,
            model=settings.chat_models[0],
            prices=settings.chat_prices,
        )

    @cached_property
    def bucket_search(self) -> BucketSearch:
        """Search while an OpenSearch is down."""
        from ragdrop.query.fallback import BucketSearch

        return BucketSearch(
            search=self.uncached_search, index=self.ports.guarded_bucket_index, directory=self.tenants.directory
        )

    @cached_property
    def pipeline(self) -> SearchPipeline:
        """Search with everything that wraps it; `query/pipeline.py` lists the order."""
        from ragdrop.query.pipeline import SearchServices, search_pipeline
        from ragdrop.query.usage import UsageCounter

        settings = self.ports.settings
        services = SearchServices(
            observe=self.observe_queries,
            prices=settings.chat_prices,
            bucket=self.bucket_search,
            metrics=self.ports.metrics,
            breakers=self.ports.breakers,
            live_views=self.live_views,
            directory=self.tenants.directory,
            usage=UsageCounter(self.ports.telemetry, clock=self.ports.clock),
            query_vectors=self.query_vectors,
            cache_size=settings.cache_size,
            cache_ttl_s=settings.cache_ttl_s,
            clock=self.ports.clock,
        )
        return search_pipeline(self.uncached_search, services)

    @property
    def search(self) -> ObservedSearch:
        """Search as routes call it."""
        return self.pipeline.observed


@dataclass
class GenerateParts:
    """Ask, and receipts of answers."""

    ports: Ports
    tenants: TenantParts
    query: QueryParts

    @cached_property
    def prepare_prompt(self) -> PreparePrompt:
        """From a question to the messages that the model gets."""
        from ragdrop.generate.prompt import PreparePrompt

        return PreparePrompt(
            search=self.query.pipeline.fallback,
            directory=self.tenants.directory,
            prompter=self.ports.prompter,
            environment=self.ports.settings.tunables(),
            models=self.ports.settings.chat_models,
        )

    @cached_property
    def store_receipts(self) -> StoreReceipts:
        """Receipts of answers."""
        from ragdrop.generate.store_receipts import StoreReceipts

        return StoreReceipts(receipts=self.ports.receipts, registry=self.ports.guarded_registry, clock=self.ports.clock)

    @cached_property
    def ask(self) -> ObservedAsk:
        """Ask as routes call it."""
        return self._pipeline("ask")

    @cached_property
    def converse(self) -> ObservedAsk:
        """Ask for clients of the OpenAI protocol."""
        return self._pipeline("chat")

    def _pipeline(self, operation: Operation) -> ObservedAsk:
        from ragdrop.generate.pipeline import ask_pipeline

        budget, observe = self.tenants.daily_budget, self.query.observe_queries
        return ask_pipeline(
            self.unobserved_ask,
            budget=budget,
            observe=observe,
            prices=self.ports.settings.chat_prices,
            operation=operation,
        )

    @cached_property
    def condense_conversation(self) -> CondenseConversation:
        """One question out of a conversation."""
        from ragdrop.generate.prompt import CondenseConversation

        return CondenseConversation(self.ports.guarded_chat)

    @cached_property
    def verify(self) -> VerifyAnswer:
        """Check answers that others wrote."""
        from ragdrop.generate.verify import VerifyAnswer

        return VerifyAnswer(self.ports.claim_verifier)

    @cached_property
    def unobserved_ask(self) -> Ask:
        """Ask."""
        from ragdrop.generate.ask import Ask, ReadAnswer

        return Ask(
            prepare=self.prepare_prompt,
            resolve_view=self.query.resolve_view,
            chat=self.ports.guarded_chat,
            receipts=self.store_receipts,
            read_answer=ReadAnswer(bucket=self.ports.settings.document_bucket, verifier=self.ports.claim_verifier),
            prices=self.ports.settings.chat_prices,
            tracer=self.ports.tracer,
        )


def build_tenants(ports: Ports) -> TenantParts:
    """Build what resolves callers and limits tenants."""
    return TenantParts(ports)


def build_query(ports: Ports, tenants: TenantParts) -> QueryParts:
    """Build search."""
    return QueryParts(ports, tenants)


def build_generate(ports: Ports, tenants: TenantParts, query: QueryParts) -> GenerateParts:
    """Build ask, over the search of *query*."""
    return GenerateParts(ports, tenants, query)
