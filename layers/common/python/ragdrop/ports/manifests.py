"""Where the manifests of bucket indexes are kept."""

from __future__ import annotations

from typing import Protocol


class ManifestStore(Protocol):
    """One text for each tenant and index, changed only by conditional write.  All methods raise DatabaseError."""

    def read(self, tenant: str, index: str) -> str | None:
        """The text as it is now (strongly consistent); None where there is none."""

    def write(self, tenant: str, index: str, body: str, sequence: int, before: int) -> bool:
        """Write *body* as number *sequence* if the text there is number *before*, 0 for none; whether it was."""

    def delete(self, tenant: str, index: str) -> None:
        """Remove the text; no error where there is none."""
