"""In every history of live and staged changes an answer is wholly what is live, or wholly what a stage makes of it.

So it is after the loss of the registry.
"""

from __future__ import annotations

import itertools
import os

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

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Status
from ragdrop.domain.history import STAGE
from ragdrop.ingest.reconcile_rules import SETTLE_S
from tests.unit.operate.test_restore import restore, without_registry
from tests.world import World

pytestmark = pytest.mark.long

EXAMPLES = int(os.environ.get("RAGDROP_STATEFUL_EXAMPLES", "60"))
SEED = int(os.environ["RAGDROP_HISTORIES_SEED"])
PATHS = ("team/a.md", "team/b.md", "team/c.md")
paths = st.sampled_from(PATHS)
_numbers = itertools.count(1)


class Stagings(RuleBasedStateMachine):
    """One history of a vault with three documents and one stage; events may wait, and come in any order."""

    @initialize()
    def begin(self) -> None:
        """A new tenant with nothing in it."""
        self.world = World(f"tenant-{next(_numbers)}")
        self.live: dict[str, str] = {}
        self.staged: dict[str, str] = {}
        self.unheard: dict[str, tuple[str, bool]] = {}
        self.under: dict[str, str] = {}  # the newest word that does not wait: a version of the bucket, looked at or not
        self.passed_over = False

    @rule(path=paths, waits=st.booleans())
    def put(self, path: str, waits: bool) -> None:
        """A new version with a word of its own, live or in the stage."""
        word = f"word{next(_numbers)}"
        metadata = {STAGE: "spring"} if waits else {}
        self.world.put(path, f"# {word}\n\nfiller {word}", metadata, ingest=False)
        self.passed_over |= path in self.unheard  # the version before was never looked at
        self.unheard[path] = word, waits
        if not waits:
            self.under[path] = word
        self.hear(path)

    @precondition(lambda self: self.live or self.staged)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        """A delete marker on top of all that there is of a document."""
        path = data.draw(st.sampled_from(sorted({*self.live, *self.staged})))
        self.world.delete(path)
        for held in (self.live, self.staged, self.unheard, self.under):
            held.pop(path, None)

    @precondition(lambda self: self.staged)
    @rule()
    def promote(self) -> None:
        """All that waits is live from here on."""
        stages = self.world.app.past.stages
        if not any(stage.waiting and not stage.promoted for stage in stages.of(self.world.caller, "team")):
            return
        if any(stage.pending for stage in stages.of(self.world.caller, "team")):
            return
        stages.promote(self.world.caller, "team", "spring", Deadline.after(10))
        self.live |= self.staged
        self.under |= {path: word for path, word in self.staged.items() if path not in self.unheard}
        self.staged = {}

    @precondition(lambda self: self.staged)
    @rule()
    def discard(self) -> None:
        """What waits is gone; what is under it is current again, also where nobody had looked at it."""
        [stage] = self.world.app.past.stages.of(self.world.caller, "team")
        if stage.promoted or stage.pending or self.unheard:
            return
        self.world.app.past.stages.discard(self.world.caller, "team", "spring")
        gone, self.staged = list(self.staged), {}
        for path in gone:
            self.world.changed(path)
            if path in self.under:
                self.live[path] = self.under[path]

    @rule(order=st.permutations(PATHS), seconds=st.sampled_from([5.0, SETTLE_S + 1]))
    def time_passes(self, order: list[str], seconds: float) -> None:
        """Ingest hears of all documents again, one after the other; after each an answer is as it should be."""
        self.world.now_s += seconds
        for path in order:
            self.hear(path)
            self.answers_are_whole()

    def hear(self, path: str) -> None:
        """Let ingest look at a document; where it cannot act yet, the event comes again later."""
        self.world.app.tenants.directory.forget(self.world.tenant)
        if self.world.changed(path) == [] and path in self.unheard:
            word, waits = self.unheard.pop(path)
            (self.staged if waits else self.live)[path] = word
            if not waits:
                self.staged.pop(path, None)

    @invariant()
    def answers_are_whole(self) -> None:
        """What is live, and what the stage makes of it."""
        if hasattr(self, "world"):
            assert self.found(None) == self.live
            assert self.found("spring") == {**self.live, **self.staged}

    def found(self, stage: str | None) -> dict[str, str]:
        """The word of each document that a search finds."""
        answer = self.world.search(
            f"ask{next(_numbers)} filler", limit=20, min_relevance=0.0, follow_links=False, stage=stage
        )
        return {document.key.vault_path: document.text.split()[-1] for document in answer.documents}

    def teardown(self) -> None:
        """In the end nothing that was promoted waits still, and counters are right."""
        if not hasattr(self, "world"):
            return
        for _ in range(3):
            self.time_passes(list(PATHS), SETTLE_S + 1)
        assert self.unheard == {}
        tenant = self.world.registry.tenant(self.world.tenant)
        assert tenant is not None
        assert not (tenant.promoted and self.staged)
        assert tenant.documents == len(self.live)
        for path in self.staged:
            assert self.world.head(path).status is Status.STAGED
        if not self.passed_over and self.world.documents.keys():
            self.world = without_registry(self.world)
            restore(self.world, name=self.world.tenant)
            self.answers_are_whole()


def test_answers_are_whole_in_every_history_of_a_stage() -> None:
    run_state_machine_as_test(
        seed(SEED)(Stagings),
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=20,
            deadline=None,
            print_blob=True,
            suppress_health_check=list(HealthCheck),
        ),
    )
