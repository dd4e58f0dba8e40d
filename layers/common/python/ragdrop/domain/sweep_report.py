"""What a sweep tells: what it found, what it did, and what it refused to do."""

from __future__ import annotations

from dataclasses import dataclass, field

from ragdrop.domain.sweeping import Finding

SHOWN = 20  # names of each finding


@dataclass(frozen=True, slots=True)
class Refusal:
    """A vault of which so much is gone that nobody is told: `known` documents, `gone` of them within 24 hours."""

    vault: str
    gone: int
    known: int


@dataclass(slots=True)
class Report:
    """What a sweep of one tenant found and did; in a dry run what it would have done.

    `objects` counts documents in the bucket, `recent` those left for later, `unusable` keys that name no document;
    `found` counts keys by finding, `names` shows some of each, `asked` are those that ingest is asked to look at, which
    the gone of a refused vault are not; `corrected` is what the counters were off by.
    `expired` revisions, of so many objects of the state bucket, stopped answering 30 days ago.
    """

    tenant: str
    dry_run: bool
    vaults: int = 0
    objects: int = 0
    recent: int = 0
    unusable: int = 0
    found: dict[str, int] = field(default_factory=lambda: {each.value: 0 for each in Finding})
    names: dict[str, list[str]] = field(default_factory=lambda: {each.value: [] for each in Finding})
    asked: int = 0
    refused: list[Refusal] = field(default_factory=list)
    orphans: int = 0
    orphan_chunks: int = 0
    expired: int = 0
    expired_objects: int = 0
    corrected: dict[str, int] = field(default_factory=lambda: {"documents": 0, "chunks": 0})
    finished: bool = True

    def note(self, kind: Finding, name: str) -> None:
        """Count a key on which bucket and registry disagree."""
        self.found[kind.value] += 1
        if len(self.names[kind.value]) < SHOWN:
            self.names[kind.value].append(name)
