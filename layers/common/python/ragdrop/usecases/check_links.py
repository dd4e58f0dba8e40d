"""Check links: which of a document's links lead to no document there is now."""

from __future__ import annotations

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Detail
from ragdrop.domain.linked import targets_of
from ragdrop.domain.links import Link, reference
from ragdrop.domain.settings_in_force import Tunables, in_force
from ragdrop.domain.tenants import Tenant
from ragdrop.ports import Registry
from ragdrop.usecases.resolve_links import resolve

TIMEOUT_S = 10.0
AT_ONCE = 20  # a link may mean five paths, and a batch reads 100 heads


class CheckLinks:
    """Resolves links as following them does, without a search: a link out of ragdrop is neither right nor broken."""

    def __init__(self, *, registry: Registry, environment: Tunables) -> None:
        self._registry = registry
        self._environment = environment

    def broken(self, detail: Detail, tenant: Tenant) -> tuple[str, ...]:
        """The links of a revision, as written, that lead to nothing live, each as often as it stands there.

        Two batch reads for every 20 links.  A link that leads out of its vault is broken unless the tenant's settings
        allow it.

        Raises:
            DatabaseError: The registry did not answer.
        """
        settings = in_force(self._environment, tenant, vaults=(detail.key.vault,), request={})
        across = settings.values.links_across_vaults
        wanted = dict.fromkeys(detail.links)
        asked = [Link(link) for link in wanted if reference(link, detail.key, across_vaults=across) is not None]
        found: set[str] = set()
        for first in range(0, len(asked), AT_ONCE):
            found |= self._live(detail, asked[first : first + AT_ONCE], across=across)
        broken = {link.target for link in asked} - found
        return tuple(link for link in detail.links if link in broken)

    def _live(self, detail: Detail, links: list[Link], *, across: bool) -> set[str]:
        """Those of up to 20 links that lead to a live document."""
        deadline = Deadline.after(TIMEOUT_S)
        targets = targets_of([(detail.key, links)], across_vaults=across)
        found = resolve(self._registry, targets, deadline)
        return {target.link.target for target, live in zip(targets, found, strict=True) if live is not None}
