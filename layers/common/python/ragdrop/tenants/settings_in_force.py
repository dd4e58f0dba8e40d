"""Settings in force: request over vault over tenant over deployment, with the origin of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ragdrop.domain.settings import AUTO, TUNABLES, Tunables, Value
from ragdrop.domain.tenants import ActiveIndex, ChunkingPlan, Tenant

Origin = Literal["request", "vault", "tenant", "environment"]


@dataclass(frozen=True, slots=True)
class SettingsInForce:
    """The values, and the origin of each that does not come from the deployment."""

    values: Tunables = field(default_factory=Tunables)
    origins: Mapping[str, Origin] = field(default_factory=dict)

    def to_dict(self) -> dict[str, dict[str, Value | None]]:
        """Every setting with its value and origin, for `debug.settings`.

        >>> SettingsInForce(Tunables(), {"fusion": "vault"}).to_dict()["fusion"]
        {'value': 'blend', 'from': 'vault'}
        """
        return {
            name: {"value": getattr(self.values, name), "from": self.origins.get(name, "environment")}
            for name in TUNABLES
        }


def in_force(
    environment: Tunables,
    tenant: Tenant,
    *,
    vaults: Sequence[str] = (),
    request: Mapping[str, Value | None] | None = None,
) -> SettingsInForce:
    """The settings in force for one request, or for one document.

    Args:
        environment: The settings of the deployment.
        tenant: Whose settings files count.
        vaults: Those of the request, or of the document; a vault's settings count only if it is the only one.
        request: Settings of the request by name; None leaves one unchanged.

    >>> in_force(Tunables(), Tenant("acme", None), request={"min_relevance": 0.2}).to_dict()["min_relevance"]
    {'value': 0.2, 'from': 'request'}
    """
    layers: list[tuple[Origin, Mapping[str, object]]] = [("tenant", tenant.settings_of(None))]
    if len(set(vaults)) == 1:
        layers.append(("vault", tenant.settings_of(vaults[0])))
    layers.append(("request", {name: value for name, value in (request or {}).items() if value is not None}))
    changes: dict[str, object] = {}
    origins: dict[str, Origin] = {}
    for origin, given in layers:
        for name in TUNABLES.keys() & given.keys():
            changes[name] = None if given[name] == AUTO else given[name]
            origins[name] = origin
    return SettingsInForce(replace(environment, **changes), origins)  # type: ignore[arg-type]


def categories_in_force(tenant: Tenant, vault: str) -> tuple[str, ...]:
    """The categories that documents of *vault* may have; empty for any."""
    return tuple(_of_documents(tenant, vault).get("categories", ()))


def mentions_in_force(tenant: Tenant, vault: str) -> bool:
    """Whether names in the text of *vault*'s documents count as links to the documents of these names."""
    return bool(_of_documents(tenant, vault).get("link_mentions", False))


def chunking_in_force(tenant: Tenant, vault: str, index: ActiveIndex) -> ChunkingPlan:
    """The chunk sizes of *vault*'s documents in *index*: its own plan, but for what settings files change."""
    given = _of_documents(tenant, vault)
    return index.chunking.with_sizes(given.get("chunk_tokens"), given.get("chunk_overlap_tokens"))


def _of_documents(tenant: Tenant, vault: str) -> Mapping[str, Any]:
    """What settings files say for documents of *vault*: its own, then the tenant's."""
    return {**tenant.settings_of(None), **tenant.settings_of(vault)}
