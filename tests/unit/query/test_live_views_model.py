"""Every interleaving of two writers and one reader over two documents: nothing stale ever answers.

The real LiveViews reads the real in-memory registry, whose contract suite DynamoDB's passes too.  At each read of the
reader any writer may take any of its next steps first, or die for good.  Heads of one batch are read one by one, as
DynamoDB reads them.  The real Views hold the manifest of a bucket index, into which a writer puts what it claimed
before it activates it.  States that were seen before are not followed again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import pytest

from bucketindex.manifest import SegmentEntry
from bucketindex.segment_view import SegmentView
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Head, Heads, Name
from ragdrop.domain.history import ChangeCounts, LiveChange
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import IndexRef
from ragdrop.query.view import LiveViews
from testing.memory_chunk_index import MemoryChunkIndex
from testing.memory_manifests import MemoryManifests
from testing.memory_registry import MemoryRegistry
from tests.contract.registry_examples import NOW_S, claim_of, detail_of
from tests.unit.query.manifest_views import INDEX, NEVER, ManifestViews, segment_name_of

KEYS = (DocumentKey("acme", "team", "a.md"), DocumentKey("acme", "team", "b.md"))
STEPS = (2, 2)  # of each writer: a claim and its activation are one each, and so is a deletion
SEARCHES = 2  # the first fills the memory, the second may trust it
Signature = tuple[Any, ...]


class StaleAnswerError(Exception):
    """A search answered what was live at no moment of it."""


class SeenError(Exception):
    """From here on everything was explored."""


@dataclass
class Writer:
    """What one worker holds between its steps; the steps that it may take next."""

    left: int
    claimed: Head | None = None
    done: int = 0
    order: ClassVar[tuple[tuple[str, ...], ...]] = (("list", "point"), ("activate",))

    @property
    def signature(self) -> tuple[int, int, str, int]:
        """What tells it from another."""
        return self.left, *((self.claimed.revision, self.claimed.key.path) if self.claimed else (0, "")), self.done

    def next_steps(self, registry: MemoryRegistry, manifests: MemoryManifests) -> list[Callable[[], None]]:
        """The steps that it may take."""
        if not self.left:
            return []
        if self.claimed is not None:
            return [lambda: self._go_on(registry, manifests, self.claimed)]
        return [
            *(lambda key=key: self._claim(registry, key) for key in KEYS),
            *(lambda key=key: self._tombstone(registry, key) for key in KEYS if registry.head(key)),
        ]

    def _claim(self, registry: MemoryRegistry, key: DocumentKey) -> None:
        self.left -= 1
        self.claimed, self.done = registry.claim(key, registry.head(key), claim_of()), 0

    def _go_on(self, registry: MemoryRegistry, manifests: MemoryManifests, claimed: Head | None) -> None:
        assert claimed is not None
        steps = self.order[self.done]
        self.done += 1
        if "list" in steps:
            entry = SegmentEntry(segment_name_of(claimed.key, claimed.revision), 1, 0, 1, 1, 1, "")
            ManifestViews(manifests).change(INDEX, lambda before: before.with_segment(entry), NEVER)
        if "point" in steps:
            registry.point(detail_of(claimed.key, claimed.revision))
        if "activate" in steps:
            self.left -= 1
            registry.activate(detail_of(claimed.key, claimed.revision), NOW_S)
        if self.done == len(self.order):
            self.claimed = None

    def _tombstone(self, registry: MemoryRegistry, key: DocumentKey) -> None:
        self.left -= 1
        head = registry.head(key)
        assert head is not None
        buried = registry.tombstone(key, head, None, NOW_S)
        if buried is not None:
            registry.unpoint(buried)


@dataclass
class Run:
    """One interleaving: the *choices* given, then always the first one, which are noted with how many there were."""

    choices: Sequence[int]
    seen: set[Signature]
    registry: MemoryRegistry
    writers: tuple[Writer, ...]
    manifests: MemoryManifests
    views_of: Callable[[Any], ManifestViews]
    taken: list[tuple[int, int]] = field(default_factory=list)
    searches: int = 0
    progress: tuple[Any, ...] = ()
    live: dict[DocumentKey, set[int | None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.known = LiveViews(Interrupted(self), MemoryChunkIndex(), clock=lambda: NOW_S)  # type: ignore[arg-type]
        self.views = self.views_of(InterruptedManifests(self))

    def pause(self, *progress: Any) -> None:
        """Let writers take steps before the reader goes on from *progress*."""
        while True:
            steps = [
                None,
                *(step for writer in self.writers for step in writer.next_steps(self.registry, self.manifests)),
            ]
            self._look(progress)
            place = len(self.taken)
            choice = self.choices[place] if place < len(self.choices) else 0
            self.taken.append((choice, len(steps)))
            step = steps[choice]
            if step is None:
                return
            step()
            for key in KEYS:
                self.live.setdefault(key, set()).add(self.live_revision(key))

    def search(self) -> None:
        """One search: the promoted documents, the index as it is, then the heads of both.

        Raises:
            StaleAnswerError: It gave what was not live since it began, or missed what was critical all along.
        """
        self.searches, self.progress = self.searches + 1, ()
        self.live = {key: {self.live_revision(key)} for key in KEYS}
        registry, deadline = self.known.view(), Deadline.after(60)
        promoted = {each.key for each in registry.promoted("acme", deadline)}
        missed = {key for key in KEYS if None not in self.live[key]} - promoted
        self.progress = tuple(sorted(promoted))
        view = self.views.current(INDEX, deadline, counts=registry.change_counts("acme", deadline))
        listed = {each.name for each in view.manifest.segments}
        self.progress = (*self.progress, view.manifest.sequence)
        heads = registry.heads(KEYS, deadline)
        given = {key: heads.found[key].live_revision if key in heads.found else None for key in KEYS}
        stale = {key for key in KEYS if given[key] not in self.live[key]}
        found = {segment_name_of(key, revision) for key, revision in given.items() if revision is not None}
        lived = {segment_name_of(key, given[key]) for key in KEYS if self.live[key] == {given[key]}}
        missed |= {key for key in KEYS if segment_name_of(key, given[key]) in (found & lived) - listed}
        if stale or missed:
            raise StaleAnswerError(f"stale: {stale}, missed: {missed}, after {self.taken}")

    def live_revision(self, key: DocumentKey) -> int | None:
        """What answers for a document now."""
        head = self.registry.head(key)
        return head.live_revision if head else None

    def _look(self, progress: tuple[Any, ...]) -> None:
        """Stop where the same state was explored; the choices given lead through states that were."""
        if len(self.taken) < len(self.choices):
            return
        known, registry, deadline = self.known, self.registry, Deadline.after(60)
        heads = [known.heads.get(key, now_s=NOW_S) for key in KEYS]
        listed = known.promoted.get("acme", now_s=NOW_S)
        signature = (
            self.searches,
            self.progress,
            progress,
            *(frozenset(self.live[key]) for key in KEYS),
            tuple(sorted(writer.signature for writer in self.writers)),  # which of them is which does not matter
            *(_short(registry.head(key)) for key in KEYS),
            tuple(registry.promoted("acme", deadline)),
            _counted(registry.change_counts("acme", deadline)),
            *(held and (held[0][1], _short(held[1])) for held in heads),
            self.manifests.read("acme", INDEX.name),
            self.views.signature,
            listed and (_counted(listed[0]), tuple(listed[1])),
        )
        if signature in self.seen:
            raise SeenError
        self.seen.add(signature)


def _short(head: Head | None) -> tuple[int, str, int | None] | None:
    return (head.revision, head.status.value, head.live_revision) if head else None


def _counted(counts: ChangeCounts) -> frozenset[tuple[int, int]]:
    return frozenset(counts.counts.items())


class InterruptedManifests:
    """The manifests as the reader reaches them."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def read(self, tenant: str, index: str) -> str | None:
        self._run.pause("manifest")
        return self._run.manifests.read(tenant, index)

    def counts_read_later(self) -> ChangeCounts:
        """What no view may ask for."""
        self._run.pause("later")
        return self._run.registry.change_counts("acme", NEVER)


class Interrupted:
    """The registry as the reader reaches it: before each read of an item writers may come in between."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def change_counts(self, tenant: str, deadline: Deadline) -> Any:
        self._run.pause("counts")
        return self._run.registry.change_counts(tenant, deadline)

    def promoted(self, tenant: str, deadline: Deadline) -> Any:
        self._run.pause("promoted")
        return self._run.registry.promoted(tenant, deadline)

    def named_and_heads(
        self, names: Collection[Name], keys: Collection[DocumentKey], deadline: Deadline
    ) -> tuple[dict[Name, tuple[str, ...]], Heads]:
        found: dict[DocumentKey, Head] = {}
        named = self._run.registry.named_and_heads(names, (), deadline)[0]
        for key in keys:
            self._run.pause("head", key, *((one, _short(head)) for one, head in found.items()))
            found |= self._run.registry.heads([key], deadline).found
        return named, Heads(found)


def explore(
    make: Callable[[], MemoryRegistry],
    steps: tuple[int, int] = STEPS,
    *,
    writer: type[Writer] = Writer,
    views: type[ManifestViews] = ManifestViews,
) -> int:
    """Follow every interleaving; how many states there are.  Raises StaleAnswerError where one answers wrong."""
    seen: set[Signature] = set()
    choices: list[int] | None = []
    while choices is not None:
        manifests = MemoryManifests()
        run = Run(choices, seen, one_live(make(), manifests), tuple(map(writer, steps)), manifests, views)
        try:
            for _ in range(SEARCHES):
                run.search()
        except SeenError:
            pass
        choices = following(run.taken)
    return len(seen)


def one_live(registry: MemoryRegistry, manifests: MemoryManifests) -> MemoryRegistry:
    """*registry*, in which the first document answers already."""
    writer = Writer(2)
    while steps := writer.next_steps(registry, manifests):
        steps[0]()
    return registry


def following(taken: Sequence[tuple[int, int]]) -> list[int] | None:
    """The next choices after those *taken*, each with how many there were; None after the last.

    >>> following([(0, 2), (1, 2)]), following([(1, 2)])
    ([1], None)
    """
    for place in range(len(taken) - 1, -1, -1):
        choice, several = taken[place]
        if choice + 1 < several:
            return [*(before for before, _ in taken[:place]), choice + 1]
    return None


class CountedLater(MemoryRegistry):
    """A registry that counts a change by a write of its own, after it: what must not be."""

    def _record(self, change: LiveChange) -> None:
        counts = self._counts.get(change.key.tenant)
        super()._record(change)
        if counts is None:
            self._counts.pop(change.key.tenant, None)
        else:
            self._counts[change.key.tenant] = counts


class NeverPointed(MemoryRegistry):
    """A registry whose pointers come after the change that they are for: what must not be."""

    def point(self, detail: Any) -> None:  # type: ignore[override]
        del detail


class ListedLater(Writer):
    """A writer that lists its segment after the activation that is counted: what must not be."""

    order = (("point",), ("activate",), ("list",))


class CountsReadLater(ManifestViews):
    """Views that note counts which were read after the manifest: what must not be."""

    def _read(
        self, index: IndexRef, held: Any, begun_s: float, counts: Any, deadline: Deadline, *, may_range: bool
    ) -> SegmentView:
        view = super()._read(index, held, begun_s, counts, deadline, may_range=may_range)
        later = self._manifests.counts_read_later()  # type: ignore[attr-defined]
        self._views[index] = replace(self._views[index], counts=later)
        return view


@pytest.mark.parametrize("steps", [STEPS, pytest.param((3, 2), marks=pytest.mark.long)])
def test_no_interleaving_of_two_writers_and_a_reader_gives_what_was_not_live(
    steps: tuple[int, int], record_property: Callable[[str, object], None]
) -> None:
    states = explore(MemoryRegistry, steps)

    record_property("explored", f"{states:,} states of two writers, one reader and two documents, none stale")
    assert states > 5_000


@pytest.mark.parametrize("broken", [CountedLater, NeverPointed])
def test_the_exploration_finds_a_registry_that_breaks_the_rules(broken: type[MemoryRegistry]) -> None:
    with pytest.raises(StaleAnswerError):
        explore(broken)


@pytest.mark.parametrize("broken", [{"writer": ListedLater}, {"views": CountsReadLater}])
def test_the_exploration_finds_a_manifest_that_is_cached_by_counts_which_are_not_its(broken: Any) -> None:
    with pytest.raises(StaleAnswerError):
        explore(MemoryRegistry, (2, 0), **broken)


def test_a_writer_that_was_overtaken_activates_nothing() -> None:
    registry, manifests, first, second = MemoryRegistry(), MemoryManifests(), Writer(2), Writer(2)
    for writer in (first, second):
        writer.next_steps(registry, manifests)[0]()
    for _ in range(2):
        first.next_steps(registry, manifests)[0]()

    head = registry.head(KEYS[0])

    assert head is not None
    assert head == replace(head, live_revision=None, revision=int(NOW_S * 1_000) + 1)
