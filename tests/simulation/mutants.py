"""Planted bugs: each a small change of the code that is simulated, which some universe must notice.

A mutant is applied in memory, where its module is imported: the text before must be there once, or the run fails.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType


@dataclass(frozen=True, slots=True)
class Mutant:
    """One planted bug: in *module* the text *before* becomes *after*.

    *first* is the first universe of those, each sixteenth, that are much about it; None tries all.
    """

    name: str
    module: str
    before: str
    after: str
    first: int | None = None


MUTANTS: Sequence[Mutant] = (
    # Reconciliation
    Mutant("an event is older than itself", "ragdrop.ingest.reconcile_rules", '"0", 16) < int(', '"0", 16) <= int('),
    Mutant(
        "a changed sidecar is no change",
        "ragdrop.ingest.reconcile_rules",
        "ObjectState.SAME if live == versions and",
        "ObjectState.SAME if live[0] == versions[0] and",
    ),
    Mutant(
        "a message is done with although its document could not be read",
        "ragdrop.ingest.reconcile",
        "                    if not self._continues(key, delivery, exc, alone=delivery is deliveries[0]):\n"
        "                        begun.failed.append(delivery)\n",
        "                    self._continues(key, delivery, exc, alone=delivery is deliveries[0])\n",
    ),
    # Registry
    Mutant(
        "a tombstone leaves the live revision",
        "ragdrop.stores.registry_rules",
        "return _with_sequencer(changes | _WITHDRAWN, sequencer)",
        "return _with_sequencer(changes, sequencer)",
    ),
    Mutant(
        "a tombstone comes late: a delete answers before it",
        "ragdrop.documents.service",
        "if head is None or head.status is Status.DELETED:  # None",
        "if head is None or there is not None:  # None",
    ),
    Mutant(
        "a change is not counted",
        "ragdrop.stores.dynamodb.document_items",
        '_one_more(f"{SLOT}{slot}")))',
        '_one_more("slots")))',
    ),
    Mutant(
        "what a running revision will replace is obsolete already",
        "ragdrop.ingest.reconcile_rules",
        "        return head.live_revision\n",
        "        return head.revision\n",
        first=7,
    ),
    Mutant(
        "a claim is written whatever revision is there",
        "ragdrop.stores.dynamodb.document_items",
        "update = Update(_listed(key, changes), expected=expected, only_new=not expected)",
        "update = Update(_listed(key, changes), whatever_is_there=True)",
        first=4,
    ),
    Mutant(
        "an activation is not on condition of its revision",
        "ragdrop.stores.dynamodb.document_items",
        'expected = {"revision": revision, "status": before.status}',
        'expected = {"status": before.status}',
        first=4,
    ),
    # Search and its caches
    Mutant(
        "an answer is cached for every credential of a tenant",
        "ragdrop.query.cache",
        '        "vaults": sorted(caller.vaults),\n',
        "",
    ),
    Mutant(
        "what was replaced during a search is not looked for again",
        "ragdrop.query.candidates",
        "if not overtaken or not view.moved_on(overtaken, deadline):",
        "if heads is not None:",
        first=7,
    ),
    Mutant(
        "a cached answer is not checked",
        "ragdrop.query.cache",
        "            if self._is_live(cached, caller, deadline):",
        "            if cached is not None:",
    ),
    Mutant(
        "a cached head is true for ever",
        "ragdrop.query.view",
        "for key, (stamp, head) in read_so.items() if stamp == stamps[key]}",
        "for key, (stamp, head) in read_so.items()}",
    ),
    Mutant(
        "a hit of any revision of a live document counts",
        "ragdrop.domain.retrieval",
        "is not None and head.live_revision == hit.revision]",
        "is not None and head.live_revision is not None]",
    ),
    Mutant(
        "an open view of the index is true for ever", "bucketindex.views", "            and self.counts == counts\n", ""
    ),
    # Segments and their merges
    Mutant(
        "a merge loses what was added meanwhile",
        "bucketindex.manifest",
        "        left = [each for each in self.segments if each.name not in replaced]\n",
        "        left: list[SegmentEntry] = []\n",
        first=7,
    ),
    Mutant(
        "a merge drops the live revision",
        "ragdrop.ingest.reconcile",
        "if revision < obsolete_before(heads.get(key))}",
        "if revision <= obsolete_before(heads.get(key))}",
        first=7,
    ),
    Mutant(
        "a manifest is written whatever is there",
        "bucketindex.views",
        "after.encoded(), after.sequence, before.sequence)",
        "after.encoded(), after.sequence, self.manifest(index).sequence)",
        first=7,
    ),
    # Reindex
    Mutant(
        "ingest writes to the active index alone during a reindex",
        "ragdrop.domain.tenants",
        "for index in (self.active, self.building, self.previous) if index is not None)",
        "for index in (self.active,) if index is not None)",
        first=8,
    ),
    # Stages and the past
    Mutant(
        "a stage goes live document by document",
        "ragdrop.past.as_of",
        "stages = dict(tenant.promoted) if tenant is not None else {}",
        "stages: dict[str, float] = {}",
        first=12,
    ),
    Mutant(
        "a version that should wait goes live",
        "ragdrop.ingest.reconcile_rules",
        "    return named if NAME_PATTERN.fullmatch(named) else WAITING\n",
        "    return None\n",
        first=12,
    ),
    Mutant(
        "a past moment shows what is live now",
        "ragdrop.past.as_of",
        "            if key in self.differences.details:\n",
        "            if key not in heads.found:\n",
        first=12,
    ),
    # Permission
    Mutant(
        "a link leads to a vault that the caller may not see",
        "ragdrop.query.follow_links",
        "if request.caller.may_see(target.means.vault)]",
        "if target.means.vault]",
    ),
    Mutant(
        "a search is of all vaults of the tenant",
        "ragdrop.query.understand",
        "(tuple(allowed) if allowed else ())",
        "()",
    ),
    Mutant(
        "rules of access are true for ever",
        "ragdrop.tenants.permissions",
        "if cached is None or cached[0] != stamp:",
        "if cached is None:",
    ),
    Mutant(
        "a file cannot narrow what its folder allows",
        "ragdrop.tenants.permissions",
        "readable.allows(head.key.vault, head.key.path, head.access)",
        "readable.allows(head.key.vault, head.key.path, None)",
    ),
    Mutant(
        "a rule is widened by what a file states",
        "ragdrop.domain.access",
        "return all(_admits(need, groups) for need in self.needs)",
        "return not self.needs or any(_admits(need, groups) for need in self.needs)",
    ),
    Mutant(
        "a linked document is shown whatever its rules",
        "ragdrop.query.view",
        "return found, self._shown(heads, deadline)",
        "return found, heads",
    ),
    Mutant(
        "the text of a document is read whatever vault and rules",
        "ragdrop.documents.service",
        "            raise not_found(key)\n        return head\n\n    def _promoted(",
        "            head = self.registry.head(key)\n        return head\n\n    def _promoted(",
    ),
)

GAPS: Sequence[Mutant] = (
    Mutant(
        "an empty index is believed",
        "ragdrop.query.candidates",
        "    if now.index != tenant.index:\n",
        "    if now.name != tenant.name:\n",
    ),
)
"""What the simulation does not notice.  An empty index is met by a search alone that knows its tenant from before a
switch of forty seconds ago: its own reading of the tenant fails, and the next one, in the same request, does not.
"""


class Planting(MetaPathFinder, Loader):
    """Imports the module of one mutant with its change."""

    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module's own spec, but for the loader."""
        if fullname != self._mutant.module:
            return None
        found = PathFinder.find_spec(fullname, path)
        assert found is not None
        assert found.origin is not None
        spec = importlib.util.spec_from_file_location(fullname, found.origin)
        assert spec is not None
        self._origin, spec.loader = found.origin, self
        return spec

    def exec_module(self, module: ModuleType) -> None:
        """Run the changed source."""
        with open(self._origin, encoding="utf-8") as file:  # noqa: PTH123 - pathlib would be imported on the way
            source = file.read()
        exec(compile(changed(source, self._mutant), self._origin, "exec"), module.__dict__)  # noqa: S102


def changed(source: str, mutant: Mutant) -> str:
    """*source* with the change of *mutant*. Raises ValueError: the text before is not there once."""
    if source.count(mutant.before) != 1:
        raise ValueError(f"{mutant.name!r}: its text is {source.count(mutant.before)} times in {mutant.module}")
    return source.replace(mutant.before, mutant.after)


def plant(name: str) -> None:
    """Plant the mutant called *name*; before its module is imported."""
    mutant = next(each for each in (*MUTANTS, *GAPS) if each.name == name)
    assert mutant.module not in sys.modules, f"{mutant.module} is imported already"
    sys.meta_path.insert(0, Planting(mutant))
