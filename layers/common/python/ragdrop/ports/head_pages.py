"""All documents of a tenant, by as many pages of the registry's list as there are."""

from __future__ import annotations

from collections.abc import Iterator

from ragdrop.domain.documents import Head, Status
from ragdrop.ports.registry import DocumentRegistry


def head_pages(
    registry: DocumentRegistry, tenant: str, *, vault: str | None = None, status: Status | None = None, size: int
) -> Iterator[list[Head]]:
    """The heads of a list, up to *size* at once; without *status* all but the deleted.  The list may be behind.

    A page is read when it is asked for, so what a caller does with one comes before the next is read.

    Raises:
        DatabaseError: The registry did not answer.
    """
    cursor: str | None = None
    while True:
        page = registry.page(tenant, vault=vault, prefix="", status=status, cursor=cursor, limit=size)
        yield page.heads
        cursor = page.cursor
        if cursor is None:
            return
