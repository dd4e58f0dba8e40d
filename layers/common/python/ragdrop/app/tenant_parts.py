"""What resolves callers and limits tenants; every function needs it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ragdrop.app.ports import Ports
from ragdrop.tenants.directory import TenantDirectory
from ragdrop.tenants.limits import DailyBudget, LimitRequests
from ragdrop.tenants.permissions import Permissions

if TYPE_CHECKING:
    from ragdrop.tenants.sign_in import SignInCodes


@dataclass
class TenantParts:
    """Callers, tenants and their budgets."""

    ports: Ports

    @cached_property
    def directory(self) -> TenantDirectory:
        limits = LimitRequests(lambda: self.ports.request_counts, clock=self.ports.clock)
        return TenantDirectory(
            self.ports.guarded_registry, admit=limits.admit, tokens=lambda: self.ports.tokens, clock=self.ports.clock
        )

    @cached_property
    def writers_directory(self) -> TenantDirectory:
        """Tenants, by the registry itself: no breaker that readers opened stops a write."""
        return self.directory.over(self.ports.registry)

    @cached_property
    def permissions(self) -> Permissions:
        """Who may read what."""
        return Permissions(self.ports.guarded_registry, clock=self.ports.clock)

    @cached_property
    def daily_budget(self) -> DailyBudget:
        return DailyBudget(tenant=self.directory.tenant, store=self.ports.telemetry, clock=self.ports.clock)

    @cached_property
    def sign_in_codes(self) -> SignInCodes:
        from ragdrop.tenants.sign_in import SignInCodes

        return SignInCodes(self.ports.stored_replies, clock=self.ports.clock)
