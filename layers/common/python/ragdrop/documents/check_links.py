"""Check the links of a document: which lead to nothing live, and which to another document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Detail, folded_name
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.links import Link, reference
from ragdrop.domain.settings import Tunables
from ragdrop.domain.tenants import Caller, Tenant
from ragdrop.ports.registry import Registry
from ragdrop.query.follow_links import resolve_links, targets_of
from ragdrop.tenants.permissions import Permissions
from ragdrop.tenants.settings_in_force import in_force

TIMEOUT_S = 10.0
AT_ONCE = 20  # a link may mean five paths, and a batch reads 100 heads


@dataclass(frozen=True, kw_only=True)
class CheckLinks:
    """Resolves links as following them does, without a search: a link out of ragdrop is neither right nor broken.

    Every method raises DatabaseError where the registry does not answer.
    """

    registry: Registry
    permissions: Permissions
    environment: Tunables

    def broken(self, detail: Detail, tenant: Tenant, caller: Caller) -> tuple[str, ...]:
        """The links of a revision, as written, that lead to nothing live, each as often as it occurs.

        Two batch reads for every 20 links.  A link that leads out of its vault is broken unless the tenant's settings
        allow it, and so is one to a document that the caller may not read.
        """
        across = self._across_vaults(detail, tenant)
        target = dict.fromkeys(detail.links)
        asked = [Link(link) for link in target if reference(link, detail.key, across_vaults=across) is not None]
        broken = {link.target for link in asked} - self._live(detail, asked, caller, across=across).keys()
        return tuple(link for link in detail.links if link in broken)

    def lead_to(self, detail: Detail, tenant: Tenant, target: DocumentKey, caller: Caller) -> bool:
        """Whether a link of the revision leads to *target*; links that cannot mean it are not looked up."""
        across = self._across_vaults(detail, tenant)
        names = {target.path, folded_name(target.path)}
        asked = []
        for link in dict.fromkeys(detail.links):
            means = reference(link, detail.key, across_vaults=across)
            if means is not None and not names.isdisjoint((*means.paths, *(name.name for name in means.names))):
                asked.append(Link(link))
        return target in self._live(detail, asked, caller, across=across).values()

    def _live(self, detail: Detail, links: Sequence[Link], caller: Caller, *, across: bool) -> dict[str, DocumentKey]:
        """The live documents that links lead to, by the link as written."""
        live: dict[str, DocumentKey] = {}
        for first in range(0, len(links), AT_ONCE):
            targets = targets_of([(detail.key, links[first : first + AT_ONCE])], across_vaults=across)
            found = resolve_links(self.registry, targets, Deadline.after(TIMEOUT_S))
            pairs = zip(targets, found, strict=True)
            live |= {target.link.target: place[0] for target, place in pairs if place is not None}
        readable = self.permissions.readable_keys(caller, live.values())
        return {link: key for link, key in live.items() if key in readable and caller.may_see(key.vault)}

    def _across_vaults(self, detail: Detail, tenant: Tenant) -> bool:
        settings = in_force(self.environment, tenant, vaults=(detail.key.vault,), request={})
        return settings.values.links_across_vaults
