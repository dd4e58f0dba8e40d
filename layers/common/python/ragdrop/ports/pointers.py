"""Pointers of the registry: lists that lead to documents without a search."""

from __future__ import annotations

from typing import Protocol

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Detail, Head
from ragdrop.domain.pointers import Promoted


class PointerRegistry(Protocol):
    """Pointers are written before a flip and removed after it: there may be too many, never too few.

    Readers check the heads of what they find.  All reads are consistent.
    """

    def point(self, detail: Detail) -> None:
        """Note a revision that is about to be flipped: under its name, and where it is promoted, in its tenant's list.

        A name has room for 20 paths; one more is not noted.
        """

    def unpoint(self, head: Head) -> None:
        """Remove the pointers that *head*, read consistently, shows to lead nowhere; those of later revisions stay."""

    def promoted(self, tenant: str, deadline: Deadline) -> list[Promoted]:
        """The tenant's important and critical documents by vault and path, by one query."""
        ...
