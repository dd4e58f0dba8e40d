"""The cursor of a listing: opaque, and bound to its tenant and filters."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from dataclasses import dataclass

from ragdrop.domain.documents import Status
from ragdrop.errors import InvalidParamsError


@dataclass(frozen=True, slots=True)
class Listing:
    """What a listing asks for; a cursor fits one listing only."""

    tenant: str
    vault: str | None
    prefix: str
    status: Status | None

    @property
    def statuses(self) -> tuple[Status, ...]:
        """The statuses that are listed: the one asked for, else all but the deleted."""
        return (self.status,) if self.status else (Status.PENDING, Status.STAGED, Status.INDEXED, Status.FAILED)

    def admits(self, vault: str, path: str) -> bool:
        """Whether a document of that vault and path is listed, whatever its status.

        >>> Listing("acme", None, "notes/", None).admits("team", "notes/a.md")
        True
        """
        return self.vault in {None, vault} and path.startswith(self.prefix)

    def cursor_after(self, vault_path: str) -> str:
        """The cursor of the page that starts behind *vault_path*.

        >>> listing = Listing("acme", None, "", None)
        >>> listing.position(listing.cursor_after("team/a.md"))
        'team/a.md'
        """
        text = json.dumps({"after": vault_path, "of": self._fingerprint()}, separators=(",", ":"))
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")

    def position(self, cursor: str | None) -> str:
        """The vault and path behind which the page starts; empty for the first page.

        Raises:
            InvalidParamsError: The cursor was not given out, or for another listing.
        """
        if cursor is None:
            return ""
        try:
            content = json.loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True))
            after, of = content["after"], content["of"]
        except (binascii.Error, ValueError, TypeError, KeyError) as exc:
            raise _not_ours(cursor) from exc
        if of != self._fingerprint() or not isinstance(after, str) or not after:
            raise _not_ours(cursor)
        return after

    def _fingerprint(self) -> str:
        parts = json.dumps([self.tenant, self.vault, self.prefix, self.status])
        return hashlib.sha256(parts.encode()).hexdigest()[:16]


def _not_ours(cursor: str) -> InvalidParamsError:
    return InvalidParamsError(
        "the cursor was not given out for this listing",
        field="cursor",
        value=cursor[:80],
        allowed="the cursor of the page before, with the same filters",
    )
