"""Build ask, and what stores and checks answers."""

from dataclasses import dataclass
from functools import cached_property

from ragdrop.app.ports import Ports
from ragdrop.app.query import QueryParts
from ragdrop.app.tenant_parts import TenantParts
from ragdrop.generate.answering import ReadQuestion
from ragdrop.generate.ask import Ask, ObservedAsk, ReadAnswer
from ragdrop.generate.ask_tables import AskTables
from ragdrop.generate.prompt import CondenseConversation, PreparePrompt
from ragdrop.generate.propose_plan import ProposePlan
from ragdrop.generate.store_receipts import StoreReceipts
from ragdrop.generate.threads import Threads
from ragdrop.generate.verify_answer import VerifyAnswer
from ragdrop.ports.telemetry import Operation


@dataclass
class GenerateParts:
    """Ask, as routes call it, and receipts of answers."""

    ports: Ports
    tenants: TenantParts
    query: QueryParts

    @cached_property
    def ask(self) -> ObservedAsk:
        return self._observed("ask")

    @cached_property
    def converse(self) -> ObservedAsk:
        """Ask for clients of the OpenAI protocol."""
        return self._observed("chat")

    def _observed(self, operation: Operation) -> ObservedAsk:
        return ObservedAsk(
            self._ask,
            budget=self.tenants.daily_budget,
            observe=self.query.observe_queries,
            prices=self.ports.settings.chat_prices,
            operation=operation,
            tracer=self.ports.tracer,
        )

    @cached_property
    def _ask(self) -> Ask:
        ports, settings, query = self.ports, self.ports.settings, self.query
        prepare = PreparePrompt(
            search=query.fallback,
            tables=AskTables(
                revisions=ports.revisions,
                registry=ports.guarded_registry,
                resolve_view=query.resolve_view,
                directory=self.tenants.directory,
                bucket=settings.document_bucket,
                clock=ports.clock,
                propose=ProposePlan(ports.guarded_chat, ports.prompter, settings.chat_models),
            ),
            directory=self.tenants.directory,
            read=self._read,
            prompter=ports.prompter,
            environment=settings.tunables(),
            models=settings.chat_models,
            clock=ports.clock,
        )
        return Ask(
            prepare=prepare,
            resolve_view=query.resolve_view,
            chat=ports.guarded_chat,
            receipts=self.store_receipts,
            read=self._read,
            read_answer=ReadAnswer(bucket=settings.document_bucket, verifier=ports.claim_verifier),
            prices=settings.chat_prices,
            tracer=ports.tracer,
        )

    @cached_property
    def _read(self) -> ReadQuestion:
        return self.ports.read_question

    @cached_property
    def store_receipts(self) -> StoreReceipts:
        ports = self.ports
        return StoreReceipts(
            receipts=ports.receipts,
            registry=ports.guarded_registry,
            permissions=self.tenants.permissions,
            clock=ports.clock,
        )

    @cached_property
    def threads(self) -> Threads:
        return Threads(receipts=self.ports.receipts, answers=self.store_receipts, clock=self.ports.clock)

    @cached_property
    def condense_conversation(self) -> CondenseConversation:
        return CondenseConversation(self.ports.guarded_chat)

    @cached_property
    def verify(self) -> VerifyAnswer:
        """Check answers that others wrote."""
        return VerifyAnswer(self.ports.claim_verifier, self._read)
