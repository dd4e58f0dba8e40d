"""What a vault has let in: a record beside the documents, so that the bucket alone tells live versions from waiting.

`.admitted/{tenant}/{vault}.json` names no document: ingest acknowledges its events, and a sweep never lists it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from ragdrop.errors import ObjectStoreError, PreconditionFailedError
from ragdrop.ports import ObjectStore, StoredObject
from ragdrop.ports.object_store import NOTHING_THERE

ADMITTED = ".admitted"  # no name of a tenant begins with a dot
MAX_TRIES = 5  # of a write that others are in the way of


@dataclass(frozen=True, slots=True)
class Admitted:
    """The record of one vault.

    Args:
        versions: The version that was promoted last, by path.
        since: RFC 3339: from then on the vault lets nothing in but through stages; None where it does not.
    """

    versions: Mapping[str, str] = field(default_factory=dict)
    since: str | None = None

    def holds(self, path: str, found: StoredObject, *, named: bool) -> bool:
        """Whether a version may go live: it was promoted, or named no stage and came before the vault asked for one.

        >>> found = StoredObject("acme/team/a.md", "v2", "e", 1, "text/plain", "2026-01-02T00:00:00Z")
        >>> Admitted({"a.md": "v2"}).holds("a.md", found, named=True)
        True
        >>> Admitted(since="2026-01-02T00:00:00Z").holds("a.md", found, named=False)
        False
        """
        before = not named and self.since is not None and found.modified_at < self.since
        return before or self.versions.get(path) == found.version_id


class AdmissionRecords:
    """Reads and changes the records.  Every method raises ObjectStoreError when S3 does not answer."""

    def __init__(self, documents: ObjectStore) -> None:
        self._documents = documents

    def read(self, tenant: str, vault: str) -> Admitted:
        """The record of a vault; an empty one where there is none."""
        return self._read(tenant, vault)[0]

    def promote(self, tenant: str, vault: str, versions: Mapping[str, str]) -> None:
        """Note which version of each path is let in."""
        self._change(tenant, vault, lambda held: replace(held, versions={**held.versions, **versions}))

    def begin(self, tenant: str, vault: str, at: str) -> None:
        """Note since when nothing comes in but through stages, unless that is noted already."""
        self._change(tenant, vault, lambda held: replace(held, since=held.since or at))

    def end(self, tenant: str, vault: str) -> None:
        """Note that everything comes in again."""
        self._change(tenant, vault, lambda held: replace(held, since=None))

    def forget(self, tenant: str, vault: str, path: str) -> None:
        """Forget a document that is removed for good."""

        def without(held: Admitted) -> Admitted:
            return replace(held, versions={name: each for name, each in held.versions.items() if name != path})

        self._change(tenant, vault, without)

    def forget_tenant(self, tenant: str) -> int:
        """Remove the records of all vaults; how many versions of them went."""
        return self._documents.delete_prefix(f"{ADMITTED}/{tenant}/")

    def _read(self, tenant: str, vault: str) -> tuple[Admitted, str]:
        """The record, and its ETag."""
        name = _name(tenant, vault)
        stored = self._documents.head(name)
        body = None if stored is None else self._documents.get(name, version_id=stored.version_id)
        if stored is None or body is None:
            return Admitted(), NOTHING_THERE
        values = json.loads(body)
        return Admitted(values["versions"], values.get("since")), stored.etag

    def _change(self, tenant: str, vault: str, change: Callable[[Admitted], Admitted]) -> None:
        for _ in range(MAX_TRIES):
            before, etag = self._read(tenant, vault)
            after = change(before)
            if after == before:
                return
            body = json.dumps({"versions": dict(after.versions), "since": after.since}, ensure_ascii=False).encode()
            try:
                self._documents.put(_name(tenant, vault), body, media_type="application/json", onto=etag)
            except PreconditionFailedError:
                continue
            return
        raise ObjectStoreError("the record of promotions kept changing", service="object_store")


def _name(tenant: str, vault: str) -> str:
    return f"{ADMITTED}/{tenant}/{vault}.json"
