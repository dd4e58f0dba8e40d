"""Resolve a query for a tenant: scopes, settings in force, limit, calibration."""

from __future__ import annotations

from dataclasses import dataclass, field

from ragdrop.calibration.shipped_calibrations import calibration_of
from ragdrop.domain.calibration import OPERATING_RELEVANCE, Calibration
from ragdrop.domain.chunks import CHARACTERS_PER_TOKEN
from ragdrop.domain.languages import uncovered
from ragdrop.domain.queries import Query
from ragdrop.domain.settings import Tunables
from ragdrop.domain.tenants import Caller, Tenant
from ragdrop.errors import InvalidDocTypeError, InvalidParamsError, ProjectNotActivatedError
from ragdrop.query.assemble import Room
from ragdrop.query.model_ranking import RankedFolders
from ragdrop.query.ranking import Boosts
from ragdrop.query.scopes import Scopes, document_limit, resolve_scopes, visible_vaults
from ragdrop.tenants.directory import TenantDirectory
from ragdrop.tenants.settings_in_force import SettingsInForce, in_force


@dataclass(frozen=True, slots=True)
class ResolvedQuery:
    """A query with all that it means for one tenant.

    `uncovered` is the question's language where the embedding model does not cover it.
    """

    query: Query
    tenant: Tenant
    scopes: Scopes
    settings: SettingsInForce
    limit: int
    calibration: Calibration
    folders: RankedFolders = field(default_factory=RankedFolders)
    uncovered: str | None = None

    @property
    def min_relevance(self) -> float | None:
        """What the request, the vault, the tenant or the deployment set; None where it is the default."""
        value = self.settings.values.min_relevance
        return None if value == OPERATING_RELEVANCE and "min_relevance" not in self.settings.origins else value

    @property
    def boosts(self) -> Boosts:
        """What promotion adds to a score."""
        values = self.settings.values
        on = self.query.apply_boosting
        return Boosts(values.boost_critical, values.boost_important) if on else Boosts(0.0, 0.0)

    @property
    def room(self) -> Room:
        """The document budget in characters."""
        values = self.settings.values
        tokens = values.max_context_tokens - values.reserved_answer_tokens - values.reserved_prompt_tokens
        characters = max(0, tokens) * CHARACTERS_PER_TOKEN
        return Room(characters, int(characters * values.critical_share))


class UnderstandQuery:
    """Resolves queries against the tenant's item and the environment's settings."""

    def __init__(self, *, directory: TenantDirectory, environment: Tunables) -> None:
        self._directory = directory
        self._environment = environment

    def forget(self, tenant: str) -> None:
        """Read the tenant's item again the next time."""
        self._directory.forget(tenant)

    def __call__(self, query: Query, caller: Caller) -> ResolvedQuery:
        """What *query* means.

        Raises:
            InvalidParamsError: A vault of the query does not exist.
            InvalidDocTypeError: A doc_type of the query does not exist.
            ProjectNotActivatedError: There is no such tenant.
        """
        tenant = self._directory.tenant(caller.tenant)
        if tenant is None:
            raise ProjectNotActivatedError("the project of this API key is not active")
        try:
            scopes = _scopes(query, tenant, caller)
        except (InvalidParamsError, InvalidDocTypeError):  # it may be younger than the tenant's item that we hold
            tenant = self._directory.tenant(caller.tenant, fresh=True) or tenant
            scopes = _scopes(query, tenant, caller)
        asked = {
            "min_relevance": query.min_relevance,
            "max_results": query.limit,
            "max_linked_docs": query.max_linked_docs,
            "max_link_depth": query.max_link_depth,
        }
        settings = in_force(self._environment, tenant, vaults=query.vaults, request=asked)
        limit = document_limit(query, settings.values.max_results)
        return ResolvedQuery(
            query,
            tenant,
            scopes,
            settings,
            limit,
            calibration_of(tenant),
            uncovered=uncovered(query.text, tenant.active.space.model),
        )


def _scopes(query: Query, tenant: Tenant, caller: Caller) -> Scopes:
    within = query.vaults or visible_vaults(tenant.vaults, caller.vaults)
    return resolve_scopes(query, known=tenant.vaults, allowed=caller.vaults, doc_types=tenant.doc_types_in(within))
