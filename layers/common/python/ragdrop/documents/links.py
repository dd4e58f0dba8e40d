"""CheckLinks: where the links of a document lead."""

from __future__ import annotations

from collections.abc import Sequence

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Detail, folded_name
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.linked import targets_of
from ragdrop.domain.links import Link, reference
from ragdrop.domain.tenants import Tenant
from ragdrop.ports import Registry
from ragdrop.query.follow_links import resolve
from ragdrop.tenants.settings_in_force import Tunables, in_force

TIMEOUT_S = 10.0
AT_ONCE = 20  # a link may mean five paths, and a batch reads 100 heads


class CheckLinks:
    """Resolves links as following them does, without a search: a link out of ragdrop is neither right nor broken."""

    def __init__(self, *, registry: Registry, environment: Tunables) -> None:
        self._registry = registry
        self._environment = environment

    def broken(self, detail: Detail, tenant: Tenant) -> tuple[str, ...]:
        """The links of a revision, as written, that lead to nothing live, each as often as it occurs.

        Two batch reads for every 20 links.  A link that leads out of its vault is broken unless the tenant's settings
        allow it.

        Raises:
            DatabaseError: The registry did not answer.
        """
        across = self._across_vaults(detail, tenant)
        wanted = dict.fromkeys(detail.links)
        asked = [Link(link) for link in wanted if reference(link, detail.key, across_vaults=across) is not None]
        broken = {link.target for link in asked} - self._live(detail, asked, across=across).keys()
        return tuple(link for link in detail.links if link in broken)

    def lead_to(self, detail: Detail, tenant: Tenant, wanted: DocumentKey) -> bool:
        """Whether a link of the revision leads to *wanted*; links that cannot mean it are not looked up.

        Raises:
            DatabaseError: The registry did not answer.
        """
        across = self._across_vaults(detail, tenant)
        names = {wanted.path, folded_name(wanted.path)}
        asked = []
        for link in dict.fromkeys(detail.links):
            means = reference(link, detail.key, across_vaults=across)
            if means is not None and not names.isdisjoint((*means.paths, *(name.name for name in means.names))):
                asked.append(Link(link))
        return wanted in self._live(detail, asked, across=across).values()

    def _live(self, detail: Detail, links: Sequence[Link], *, across: bool) -> dict[str, DocumentKey]:
        """The live documents that links lead to, by the link as written."""
        live: dict[str, DocumentKey] = {}
        for first in range(0, len(links), AT_ONCE):
            targets = targets_of([(detail.key, links[first : first + AT_ONCE])], across_vaults=across)
            found = resolve(self._registry, targets, Deadline.after(TIMEOUT_S))
            pairs = zip(targets, found, strict=True)
            live |= {target.link.target: place[0] for target, place in pairs if place is not None}
        return live

    def _across_vaults(self, detail: Detail, tenant: Tenant) -> bool:
        settings = in_force(self._environment, tenant, vaults=(detail.key.vault,), request={})
        return settings.values.links_across_vaults
