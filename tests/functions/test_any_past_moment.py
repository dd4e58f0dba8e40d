"""As of any past moment, answers are what a model of the bucket says: random histories, on the fakes and the index."""

from __future__ import annotations

import itertools
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from bucketindex.index import BucketChunkIndex
from ragdrop.domain.deadlines import Deadline, rfc3339
from testing.memory_chunk_index import MemoryChunkIndex
from testing.memory_manifests import MemoryManifests
from testing.memory_object_store import MemoryObjectStore
from tests.world import World

EXAMPLES = int(os.environ.get("RAGDROP_STATEFUL_EXAMPLES", "60"))
ON_THE_INDEX = int(os.environ.get("RAGDROP_STATEFUL_EXAMPLES", "12"))  # each takes some seconds there
SEED = int(os.environ["RAGDROP_HISTORIES_SEED"])
STEPS = 20
PATHS = ("team/a.md", "team/b.md", "side/c.md")
paths = st.sampled_from(PATHS)
_numbers = itertools.count(1)
State = dict[str, tuple[str, str]]
"""The word and the category of each document that there is."""


class Pasts(RuleBasedStateMachine):
    """One history of one tenant with three documents, in which every event is handled at once."""

    kind: str
    folder: Path

    @initialize()
    def begin(self) -> None:
        """A new tenant with nothing in it."""
        state, manifests = MemoryObjectStore("state"), MemoryManifests()
        index: Any = MemoryChunkIndex()
        if self.kind == "bucket":
            folder = self.folder / str(next(_numbers))
            index = BucketChunkIndex(state, manifests, folder, max_bytes=1 << 30, merge_above=1)
        self.world = World(f"tenant-{next(_numbers)}", state=state, manifests=manifests, index=index)
        self.now: State = {}
        self.categories: dict[str, str] = {}
        self.moments: list[tuple[str, State]] = []

    def then(self) -> None:
        """Remember this moment, and let time pass."""
        self.moments.append((rfc3339(self.world.now_s, precision="milliseconds"), dict(self.now)))
        self.world.now_s += 60.0

    @rule(path=paths, size=st.integers(1, 2))
    def put(self, path: str, size: int) -> None:
        """A new version with a word of its own."""
        word = f"word{next(_numbers)}"
        self.world.put(path, "\n\n".join(f"# {word} part {n}\n\nfiller {word} " * 20 for n in range(size)))
        self.now[path] = word, self.categories.get(path, "")
        self.then()

    @precondition(lambda self: self.now)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        """A delete marker on top."""
        path = data.draw(st.sampled_from(sorted(self.now)))
        self.world.delete(path)
        del self.now[path]
        self.then()

    @precondition(lambda self: self.now)
    @rule(data=st.data(), category=st.sampled_from(["one", "two"]))
    def put_sidecar(self, data: st.DataObject, category: str) -> None:
        """Other metadata beside the document, whose text stays."""
        path = data.draw(st.sampled_from(sorted(self.now)))
        self.world.put(f"{path}.metadata.json", json.dumps({"category": category}))
        self.categories[path] = category
        self.now[path] = self.now[path][0], category
        self.then()

    @precondition(lambda self: self.moments)
    @rule(path=paths)
    def purge(self, path: str) -> None:
        """The document goes from now and from every past."""
        if self.world.registry.head(self.world.key(path)) is None:
            return
        self.world.app.documents.purge_documents(self.world.caller, self.world.key(path), Deadline.after(10))
        self.categories.pop(path, None)
        self.now.pop(path, None)
        for _, state in self.moments:
            state.pop(path, None)
        self.then()

    @precondition(lambda self: self.moments)
    @rule(data=st.data())
    def look_back(self, data: st.DataObject) -> None:
        """Any past moment says what held then, and now says what holds now."""
        moment, state = data.draw(st.sampled_from(self.moments))
        assert self.found(moment) == state
        assert self.found(None) == self.now

    def found(self, moment: str | None) -> State:
        """What a search for everything gives: of each document its word and category."""
        answer = self.world.search(
            f"ask{next(_numbers)} filler part", limit=20, min_relevance=0.0, follow_links=False, as_of=moment
        )
        found = {}
        for document in answer.documents:
            words = {word for word in document.text.split() if word.startswith("word")}
            assert len(words) == 1, words
            found[document.key.vault_path] = (words.pop(), document.facts.category or "")
        return found


@pytest.mark.parametrize("kind", ["memory", "bucket"])
def test_any_past_moment_is_what_the_bucket_was(kind: str, tmp_path: Path) -> None:
    Pasts.kind, Pasts.folder = kind, tmp_path
    run_state_machine_as_test(
        seed(SEED)(Pasts),
        settings=settings(
            max_examples=EXAMPLES if kind == "memory" else ON_THE_INDEX,
            stateful_step_count=STEPS,
            deadline=None,
            print_blob=True,
            suppress_health_check=list(HealthCheck),
        ),
    )
