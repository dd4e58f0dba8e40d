"""Filters of a list of documents on what only their details hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ragdrop.domain.documents import ContentType, Facts


@dataclass(frozen=True, slots=True)
class DetailFilters:
    """Exact values, all of which must fit; None and an empty mapping ask for nothing.

    `outdated` asks for documents whose chunks were cut by other sizes than those in force; `unused_since`
    (RFC 3339 UTC) for those indexed before, that no answer held since; `broken_links` for those with a link that
    leads to no document.
    """

    content_type: ContentType | None = None
    category: str | None = None
    tag: str | None = None
    session_id: str | None = None
    attributes: Mapping[str, str] = field(default_factory=dict)
    outdated: bool = False
    unused_since: str | None = None
    broken_links: bool = False

    def __bool__(self) -> bool:
        """Whether anything is asked for."""
        return self != DetailFilters()

    def admit(self, facts: Facts) -> bool:
        """Whether a live revision with these facts is listed.

        >>> facts = Facts("Pump", "v1", "2024-05-01T00:00:00Z", tags=("water",), attributes={"game": "go"})
        >>> DetailFilters(tag="water").admit(facts), DetailFilters(attributes={"game": "chess"}).admit(facts)
        (True, False)
        """
        pairs = (
            (self.content_type, facts.content_type),
            (self.category, facts.category),
            (self.session_id, facts.session_id),
        )
        if self.unused_since is not None and facts.indexed_at >= self.unused_since:
            return False  # too young to be called unused
        return (
            all(wanted is None or wanted == value for wanted, value in pairs)
            and (self.tag is None or self.tag in facts.tags)
            and all(facts.attributes.get(name) == value for name, value in self.attributes.items())
        )
