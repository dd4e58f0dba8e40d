"""Records of what vaults admitted, in the document bucket: without them it would not say which versions wait.

`.admitted/{tenant}/{vault}.json` names no document: ingest acknowledges its events, and a sweep never lists it.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from ragdrop.errors import ObjectStoreError, PreconditionFailedError
from ragdrop.ports.object_store import NOTHING_THERE, ObjectStore, StoredObject

ADMITTED = ".admitted"  # no name of a tenant begins with a dot
MAX_TRIES = 5  # of a write that others are in the way of


@dataclass(frozen=True, slots=True)
class _Admitted:
    """The record of one vault."""

    versions: Mapping[str, str] = field(default_factory=dict)  # the version that was promoted last, by path
    # RFC 3339: from then on the vault admits versions only through stages; None if it admits all
    since: str | None = None

    def holds(self, path: str, found: StoredObject, *, named: bool) -> bool:
        """Whether a version may go live: it was promoted, or it named no stage and is older than `since`.

        >>> found = StoredObject("acme/team/a.md", "v2", "e", 1, "text/plain", "2026-01-02T00:00:00Z")
        >>> _Admitted({"a.md": "v2"}).holds("a.md", found, named=True)
        True
        >>> _Admitted(since="2026-01-02T00:00:00Z").holds("a.md", found, named=False)
        False
        """
        before = not named and self.since is not None and found.modified_at < self.since
        return before or self.versions.get(path) == found.version_id


class AdmissionRecords:
    """Reads and changes the records.  Every method raises ObjectStoreError if S3 does not answer."""

    def __init__(self, documents: ObjectStore) -> None:
        self._documents = documents

    def read(self, tenant: str, vault: str) -> _Admitted:
        """The record of a vault; an empty one if there is none."""
        return self._read(tenant, vault)[0]

    def promote(self, tenant: str, vault: str, versions: Mapping[str, str]) -> None:
        """Admit a version of each path."""
        self._change(tenant, vault, lambda before: replace(before, versions={**before.versions, **versions}))

    def begin(self, tenant: str, vault: str, at: str) -> None:
        """Admit versions only through stages from *at* on, unless an earlier time is recorded."""
        self._change(tenant, vault, lambda before: replace(before, since=before.since or at))

    def end(self, tenant: str, vault: str) -> None:
        """Admit every version again."""
        self._change(tenant, vault, lambda before: replace(before, since=None))

    def forget(self, tenant: str, vault: str, path: str) -> None:
        """Forget a document that is removed for good."""
        self._change(
            tenant,
            vault,
            lambda before: replace(
                before, versions={name: each for name, each in before.versions.items() if name != path}
            ),
        )

    def forget_tenant(self, tenant: str) -> int:
        """Remove the records of all vaults; return how many versions of them."""
        return self._documents.delete_prefix(f"{ADMITTED}/{tenant}/")

    def _read(self, tenant: str, vault: str) -> tuple[_Admitted, str]:
        """The record, and its ETag."""
        name = _name(tenant, vault)
        stored = self._documents.head(name)
        body = None if stored is None else self._documents.get(name, version_id=stored.version_id)
        if stored is None or body is None:
            return _Admitted(), NOTHING_THERE
        values = json.loads(body)
        return _Admitted(values["versions"], values.get("since")), stored.etag

    def _change(self, tenant: str, vault: str, change: Callable[[_Admitted], _Admitted]) -> None:
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
        raise ObjectStoreError("the record of promotions changed too often", service="object_store")


def _name(tenant: str, vault: str) -> str:
    return f"{ADMITTED}/{tenant}/{vault}.json"
