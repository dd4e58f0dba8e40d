"""Whatever order events come in and wherever a worker dies, answers are true and the end is the bucket.

A few random histories over real adapters (S3 and DynamoDB by moto, the bucket index): puts, overwrites, deletes,
restores, sidecars, purged versions; events duplicated and reordered; merges of segments; a crash before or after any
call of any port.  Two environments answer, each with what it holds of earlier searches.  `tests/simulation` tries
thousands, with functions that run beside each other; these keep it honest, as they are on the adapters.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from moto import mock_aws

from bucketindex.index import BucketChunkIndex
from ragdrop.app import compose
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Status, name_of
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.retrieval import Query
from ragdrop.ingest.reconcile_rules import LEASE_S
from ragdrop.ingest.revision_store import RevisionStore
from ragdrop.ports.message_queue import Delivery
from ragdrop.ports.registry import HopLimits
from tests.faults.crashes import Countdown, Crash, Fragile
from tests.functions.history_backends import InMoto
from tests.world import World

EXAMPLES = int(os.environ.get("RAGDROP_STATEFUL_EXAMPLES", "2"))  # each takes two seconds
SEED = int(os.environ["RAGDROP_HISTORIES_SEED"])  # set by tests/conftest.py, and printed at the start of the run
STEPS = 20
PATHS = ("team/a.md", "team/b.md")
paths = st.sampled_from(PATHS)
_numbers = itertools.count(1)


class Histories(RuleBasedStateMachine):
    """One history of one tenant with two documents."""

    backend: InMoto

    @initialize()
    def begin(self) -> None:
        """A new tenant with nothing in it."""
        self.countdown = Countdown()
        fragile: dict[str, Any] = {name: Fragile(port, self.countdown) for name, port in self.backend.ports().items()}
        revisions = RevisionStore(fragile["state"])
        patient = HopLimits(idle_hops=1_000)  # workers die more often here than a document may need
        fragile |= dict.fromkeys(("index", "bucket_index"), self.bucket_index(fragile, self.backend.folder))
        self.world = World(f"tenant-{next(_numbers)}", revisions=revisions, hop_limits=patient, **fragile)
        self.second_reader = compose(self.world.app.ports)  # an environment that holds what it read at other times
        self.waiting: list[Delivery] = []
        self.words: dict[str, set[str]] = {path: set() for path in PATHS}
        self.sidecars: set[str] = set()
        self.unchecked = True
        self.pointed: dict[DocumentKey, tuple[int | None, str | None]] = {}
        self.exists: dict[str, bool] = dict.fromkeys(PATHS, False)
        self.must_stay: dict[str, bool] = dict.fromkeys(PATHS, False)

    def bucket_index(self, fragile: dict[str, Any], folder: Path) -> BucketChunkIndex:
        """The bucket index over fragile ports, so eager that each second segment is merged."""
        return BucketChunkIndex(fragile["state"], fragile["manifests"], folder, max_bytes=1 << 30, merge_above=1)

    def reported(self, path: str) -> None:
        self.waiting.append(self.world.message(self.world.change(path)))

    @rule(path=paths, size=st.integers(1, 3))
    def put(self, path: str, size: int) -> None:
        """A new version with a word of its own."""
        word = f"word{next(_numbers)}"
        self.words[path].add(word)
        self.world.put(
            path, "\n\n".join(f"# {word} part {n}\n\n" + f"{word} filler " * 90 for n in range(size)), ingest=False
        )
        self.exists[path] = True
        self.reported(path)

    @precondition(lambda self: any(self.exists.values()))
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        """A delete marker on top."""
        path = data.draw(st.sampled_from([path for path in PATHS if self.exists[path]]))
        self.world.delete(path, ingest=False)
        self.exists[path] = self.must_stay[path] = False
        self.reported(path)

    @precondition(lambda self: any(self.exists.values()))
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        """A delete over HTTP: from its answer on nothing of the document may be found."""
        path = data.draw(st.sampled_from([path for path in PATHS if self.exists[path]]))
        key = self.world.key(path)
        self.unchecked = True
        self.world.app.documents.document_service.delete(self.world.caller, key)
        self.exists[path] = self.must_stay[path] = False
        self.reported(path)
        assert path not in self.found()

    @precondition(lambda self: any(self.words.values()))
    @rule(path=paths)
    def restore(self, path: str) -> None:
        """The delete marker goes: S3 says `ObjectRemoved:Delete` though the document is back."""
        newest = self.backend.newest(self.world.key(path).s3_key)
        if newest is not None and newest[1]:
            self.backend.purge(self.world.key(path).s3_key, newest[0])
            self.exists[path] = True
            self.reported(path)

    @precondition(lambda self: any(self.words.values()))
    @rule(path=paths)
    def purge_the_newest(self, path: str) -> None:
        """The current version is removed for good: the one before it is current again."""
        newest = self.backend.newest(self.world.key(path).s3_key)
        if newest is not None and not newest[1]:
            self.backend.purge(self.world.key(path).s3_key, newest[0])
            self.exists[path] = self.world.documents.head(self.world.key(path).s3_key) is not None
            self.must_stay[path] = False
            self.reported(path)

    @rule(path=paths, category=st.sampled_from(["one", "two"]), level=st.sampled_from(["standard", "critical"]))
    def put_sidecar(self, path: str, category: str, level: str) -> None:
        """Metadata beside the document."""
        self.sidecars.add(path)
        self.world.put(
            f"{path}.metadata.json", json.dumps({"category": category, "promotion_level": level}), ingest=False
        )
        self.reported(f"{path}.metadata.json")

    @precondition(lambda self: self.sidecars)
    @rule(data=st.data())
    def delete_sidecar(self, data: st.DataObject) -> None:
        """The metadata goes."""
        path = data.draw(st.sampled_from(sorted(self.sidecars)))
        self.sidecars.remove(path)
        self.world.delete(f"{path}.metadata.json", ingest=False)
        self.reported(f"{path}.metadata.json")

    @precondition(lambda self: self.waiting)
    @rule(data=st.data(), keep=st.booleans())
    def deliver(self, data: st.DataObject, *, keep: bool) -> None:
        """Some message arrives, in any order; sometimes it will arrive again."""
        self.unchecked = True
        message = self.waiting.pop(data.draw(st.integers(0, len(self.waiting) - 1)))
        again = self.world.deliver(message)
        if keep or again:
            self.waiting.append(message)

    @precondition(lambda self: len(self.waiting) > 1)
    @rule()
    def deliver_a_batch(self) -> None:
        """All that waits arrives in one Lambda batch."""
        self.unchecked = True
        failed = self.world.deliver(*self.waiting)
        self.waiting = list(failed)

    @precondition(lambda self: self.waiting)
    @rule(data=st.data(), calls=st.integers(0, 25), after=st.booleans())
    def deliver_and_crash(self, data: st.DataObject, calls: int, *, after: bool) -> None:
        """The worker dies at some call; its message comes back."""
        self.unchecked = True
        message = data.draw(st.sampled_from(self.waiting))
        self.countdown.arm(calls, after=after)
        try:
            self.world.deliver(message)
        except Crash:
            self.world.now_s += data.draw(st.sampled_from([0, LEASE_S + 1]))
        finally:
            self.countdown.disarm()

    @rule(calls=st.integers(0, 25), after=st.booleans(), twice=st.booleans())
    def merge(self, calls: int, *, after: bool, twice: bool) -> None:
        """Segments become one; the worker dies at some call, or another one does the same meanwhile."""
        self.unchecked = True
        if not twice:
            self.countdown.arm(calls, after=after)
        try:
            self.merged(twice=twice)
        except Crash:
            pass
        finally:
            self.countdown.disarm()

    def merged(self, *, twice: bool = False) -> None:
        """Merge all segments, without what can never answer again."""
        tenant = self.world.registry.tenant(self.world.tenant)
        assert tenant is not None
        index, merge_segments = self.world.app.ports.bucket_index, self.world.app.ingest.merge_segments
        soon = Deadline.after(60)

        def dead(found: Any) -> Any:
            nonlocal twice
            if twice:
                twice = False
                index.merge(tenant.index, soon, dead, everything=True)
            return merge_segments.dead(found, soon)

        index.merge(tenant.index, soon, dead, everything=True)

    @invariant()
    def only_what_is_live_answers(self) -> None:
        """Every chunk found is of the live revision; what is live and not deleted is found, and pointed at."""
        if not hasattr(self, "world") or not self.unchecked:
            return  # what only changes the bucket changes no answer
        self.unchecked = False
        heads = self.world.registry.heads([self.world.key(path) for path in PATHS], Deadline.after(10)).found
        found = self.found()
        remembered = self.found(fresh=False)  # an answer from before a crash may lack what is new, and no more
        live_now = {key: (head.live_revision, head.promotion_level) for key, head in heads.items()}
        if live_now != self.pointed:  # what answers has changed, and so have the pointers to it
            listed, named = self.pointers()
        for path in PATHS:
            head = heads.get(self.world.key(path))
            live = head.live_revision if head else None
            assert found.get(path, set()) == (set() if live is None else {live})
            assert remembered.get(path, set()) <= found.get(path, set())
            if self.must_stay[path]:
                assert live is not None, f"{path} vanished"
            if live is not None and head is not None and head.status is Status.INDEXED:
                self.must_stay[path] = self.exists[path]
            if live is not None and head is not None and live_now != self.pointed:
                assert path in named
                assert head.promotion_level == "standard" or path in listed
        self.pointed = live_now

    def teardown(self) -> None:
        """Once events settle, registry and index equal the bucket."""
        if not hasattr(self, "world"):
            return
        self.world.now_s += LEASE_S + 1
        for _ in range(3):
            self.waiting = [message for message in self.waiting if self.world.deliver(message)]
        assert self.waiting == []
        expected = 0
        for path in PATHS:
            head = self.world.registry.head(self.world.key(path))
            current = self.world.documents.head(self.world.key(path).s3_key)
            sidecar = self.world.documents.head(self.world.key(path).s3_key + ".metadata.json")
            if current is None:
                assert head is None or (head.status is Status.DELETED and head.live_revision is None)
                continue
            assert head is not None
            assert (head.status, head.live_version_id) == (Status.INDEXED, current.version_id)
            assert head.live_sidecar_version_id == (sidecar.version_id if sidecar else None)
            expected += head.chunk_count
        self.merged()
        assert self.world.chunk_count() == expected
        listed, named = self.pointers()
        assert named == {path for path in PATHS if self.world.documents.head(self.world.key(path).s3_key)}
        heads = {path: self.world.registry.head(self.world.key(path)) for path in PATHS}
        assert listed >= {path for path, head in heads.items() if head and head.promotion_level != "standard"}
        assert listed <= named

    def pointers(self) -> tuple[set[str], set[str]]:
        """Which documents are in the list of promoted ones, and which are found by their names."""
        listed = self.world.registry.promoted(self.world.tenant, Deadline.after(10))
        names = {name_of(self.world.key(path)): path.partition("/")[0] for path in PATHS}
        named = self.world.registry.named_and_heads(list(names), [], Deadline.after(10))[0]
        return (
            {pointer.key.vault_path for pointer in listed},
            {f"{names[name]}/{path}" for name, paths in named.items() for path in paths},
        )

    def found(self, *, fresh: bool = True) -> dict[str, set[int]]:
        """The revisions by path of every chunk that a search for all words gives, by *fresh* not from memory."""
        words = " ".join(sorted(set[str]().union(*self.words.values()))) or "nothing"
        if fresh:
            words = f"ask{next(_numbers)} {words}"
        found: dict[str, set[int]] = {}
        query = Query(words[:1_000], limit=20, min_relevance=0.0, follow_links=False)
        self.second_reader.tenants.directory.forget(self.world.tenant)  # it is as old as it may be, which is seconds
        reader = self.world.app if next(_numbers) % 2 else self.second_reader
        answer = reader.query.search(query, self.world.caller, Deadline.after(10))
        for document in [*answer.documents, *answer.critical]:
            found.setdefault(document.key.vault_path, set()).add(document.revision)
        return found


@pytest.fixture
def moto(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[InMoto]:
    for name in ("AWS_ENDPOINT_URL", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    with mock_aws():
        yield InMoto(tmp_path)


def test_on_the_real_adapters_answers_are_true_in_every_history_and_its_end_is_the_bucket(moto: InMoto) -> None:
    Histories.backend = moto
    run_state_machine_as_test(
        seed(SEED)(Histories),
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            deadline=None,
            print_blob=True,  # repeats a history that failed
            suppress_health_check=list(HealthCheck),
        ),
    )
