"""Settings in force: request over vault over tenant over environment, with their origin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Literal

from ragdrop.domain.tenants import ActiveIndex, ChunkingPlan, Tenant
from ragdrop.tenants.setting_rules import Value

Origin = Literal["request", "vault", "tenant", "environment"]


@dataclass(frozen=True, slots=True)
class Tunables:
    """What tenants, vaults and partly requests may change; the ranges are in `setting_rules.RULES`.

    `max_results` None chooses per query; `fusion` is `blend`, `blend:W` or `rrf`; `critical_share` is a share of the
    document budget.  `chunk_tokens` and `chunk_overlap_tokens` None leave the plan of the tenant's index as it is
    (`chunking_in_force` makes a plan of them).  Tokens are the chat model's, those of chunks the embedding model's.
    """

    min_relevance: float = 0.7
    max_results: int | None = None
    max_linked_docs: int = 5
    max_link_depth: int = 2
    boost_critical: float = 0.15
    boost_important: float = 0.10
    critical_share: float = 0.5
    fusion: str = "blend"
    citation_policy: Literal["mark", "drop", "abstain"] = "mark"
    max_context_tokens: int = 24_000
    reserved_answer_tokens: int = 2_000
    reserved_prompt_tokens: int = 500
    keep_last_good: bool = False
    links_across_vaults: bool = False
    chunk_tokens: int | None = None
    chunk_overlap_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class SettingsInForce:
    """The values, and the origin of each that does not come from the environment."""

    values: Tunables = field(default_factory=Tunables)
    origins: Mapping[str, Origin] = field(default_factory=dict)

    def to_dict(self) -> dict[str, dict[str, Value | None]]:
        """Every setting with its value and where it came from, for `debug.settings`.

        >>> SettingsInForce(Tunables(), {"fusion": "vault"}).to_dict()["fusion"]
        {'value': 'blend', 'from': 'vault'}
        """
        return {
            each.name: {
                "value": getattr(self.values, each.name),
                "from": self.origins.get(each.name, "environment"),
            }
            for each in fields(self.values)
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
        environment: What the deployment says.
        tenant: Whose settings files count.
        vaults: The vaults that the request names; a vault's settings hold only where it is the only one.  For a
            document: its vault.
        request: Settings that the request gives by name; None leaves one as it is.

    >>> in_force(Tunables(), Tenant("acme", None), request={"min_relevance": 0.2}).to_dict()["min_relevance"]
    {'value': 0.2, 'from': 'request'}
    """
    named = set(vaults)
    layers: list[tuple[Origin, Mapping[str, object]]] = [("tenant", tenant.settings_of(None))]
    if len(named) == 1:
        layers.append(("vault", tenant.settings_of(named.pop())))
    layers.append(("request", {name: value for name, value in (request or {}).items() if value is not None}))
    known = {each.name for each in fields(environment)}
    changes: dict[str, object] = {}
    origins: dict[str, Origin] = {}
    for origin, given in layers:
        for name in known & given.keys():
            changes[name] = None if given[name] == "auto" else given[name]
            origins[name] = origin
    return SettingsInForce(replace(environment, **changes), origins)  # type: ignore[arg-type]


def categories_in_force(tenant: Tenant, vault: str) -> tuple[str, ...]:
    """The categories that documents of *vault* may have, by its own settings file, else the tenant's; empty for any."""
    given = {**tenant.settings_of(None), **tenant.settings_of(vault)}
    return tuple(given.get("categories", ()))


def mentions_in_force(tenant: Tenant, vault: str) -> bool:
    """Whether names in the text of *vault*'s documents count as links to the documents of these names."""
    return bool({**tenant.settings_of(None), **tenant.settings_of(vault)}.get("link_mentions", False))


def chunking_in_force(tenant: Tenant, vault: str, index: ActiveIndex) -> ChunkingPlan:
    """What documents of *vault* are cut by for *index*: its own plan, but for what settings files change."""
    given = {**tenant.settings_of(None), **tenant.settings_of(vault)}
    return index.chunking.with_sizes(given.get("chunk_tokens"), given.get("chunk_overlap_tokens"))
