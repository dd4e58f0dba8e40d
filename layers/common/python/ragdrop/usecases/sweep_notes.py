"""What a sweep notes of a tenant between its steps, in the state bucket: how far it is, and what was gone lately."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields

from ragdrop.ports import ObjectStore


@dataclass(slots=True)
class Notes:
    """How far the sweep of one tenant is.

    `after` is the last vault that was done, None at the start of a round; `last` the last path that the bucket listed
    up to there, `cursor` the registry's page that goes on behind it.  `documents`, `chunks`, `vaults` and
    `changed_at_s` were counted so far in this round, `generation` is the tenant's at its start.  `gone` names the
    documents found gone in the last 24 hours: by vault, when (seconds since 1970) by path.  `derived_after` is
    where the next round goes on with what is derived.
    """

    after: str | None = None
    last: str = ""
    cursor: str | None = None
    documents: int = 0
    chunks: int = 0
    vaults: list[str] = field(default_factory=list)
    changed_at_s: float = 0.0
    generation: int = 0
    gone: dict[str, dict[str, float]] = field(default_factory=dict)
    derived_after: str = ""


class SweepNotes:
    """Reads and writes notes.  Raises ObjectStoreError when S3 does not answer."""

    def __init__(self, state: ObjectStore) -> None:
        self._state = state

    def read(self, tenant: str) -> Notes:
        """The notes of a tenant; empty ones where there are none, or none that can be read."""
        body = self._state.get(_name(tenant))
        try:
            kept = json.loads(body or b"{}")
        except ValueError:
            return Notes()
        known = {each.name for each in fields(Notes)}
        return Notes(**{name: value for name, value in kept.items() if name in known})

    def write(self, tenant: str, notes: Notes) -> None:
        """Keep the notes of a tenant."""
        body = json.dumps(asdict(notes), ensure_ascii=False).encode()
        self._state.put(_name(tenant), body, media_type="application/json")


def _name(tenant: str) -> str:
    return f"sweeps/{tenant}.json"
