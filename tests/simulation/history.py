"""One history: what users and the world do in a universe, and the rest at its end."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from ragdrop.domain.deadlines import Deadline, rfc3339
from ragdrop.domain.documents import Status
from ragdrop.domain.history import STAGE
from ragdrop.domain.keys import SIDECAR_SUFFIX, DocumentKey
from ragdrop.ports.message_queue import deliveries
from tests.simulation.functions import Functions
from tests.simulation.model import Violation
from tests.simulation.process import CLOCK
from tests.simulation.services import VISIBILITY_S
from tests.simulation.universe import (
    AT_ONCE,
    CACHE_S,
    LINKS,
    MAX_ACTORS,
    PATHS,
    QUESTIONS,
    RULES,
    STAGED,
    TURNS,
    Environment,
    Universe,
    Who,
)

PLANS = 3  # the focus on stages and on the past
SPRING = "spring"  # the stage
MAX_MOMENTS = 20
COOL, HOT, PLANNED = (
    (0, 0, 0, 1, 2, 3),
    (0, 0, 0, 0, 0, 1),
    (0, 0, 1, 4, 4, 5),
)  # which of the paths is picked how often


class History(Universe):
    """A history from its first to its last moment; `live` and `rest` raise Violation for what may not be seen."""

    def live(self) -> None:
        """Let things happen until the choices are over."""
        scheduler, choices = self.scheduler, self.choices
        many = self.STEPS + self.FOCI[self.focus]
        while len(choices.made) < self.length and not choices.are_over:
            ready, steps = scheduler.ready(), len(many)
            choice = choices.pick(TURNS * steps)
            if ready and (choice < (TURNS - 1) * steps or len(scheduler.actors) >= MAX_ACTORS):
                self.turn(ready[choice % len(ready)])
            elif len(scheduler.actors) < MAX_ACTORS:
                scheduler.operations += 1
                many[choice % steps](self)
            else:
                self.pass_time(min(actor.wakes_s for actor in scheduler.actors) - CLOCK.now_s)

    # Steps of users and of the world

    def nothing(self) -> None:
        """The plainest step."""

    def pick_path(self) -> str:
        """A document, often the same."""
        places = PLANNED if self.focus == PLANS else HOT if self.is_hot else COOL
        return PATHS[places[self.choices.pick(6)]]

    def put(self) -> None:
        """A user puts a new version."""
        self.write(self.pick_path(), {})

    def stage(self) -> None:
        """A user puts a new version that waits in a stage."""
        self.write(STAGED[self.choices.pick(len(STAGED))], {STAGE: SPRING})

    def write(self, key: str, metadata: dict[str, str]) -> None:
        """Put a text with a word of its own, and links to the others."""
        self.words += 1
        word = f"zq{self.words}x"
        level = ("", "", "promotion_level: critical\n")[self.choices.pick(3)]
        parts = (1, 1, 1, 1, 3)[self.choices.pick(5)]
        pages = [f"# {word} page {page}\n\nThe filler pump {word}. {LINKS}\n" for page in range(parts)]
        stated = (None, None, ["hr"], ["*"], [])[self.choices.pick(5)]
        access = "" if stated is None else f"access: {json.dumps(stated)}\n"
        self.model.stated[word] = None if stated is None else frozenset(stated)
        text = f"---\ncategory: one\n{level}{access}---\n" + f"\n{'filler ' * 90}\n\n".join(pages)
        self.scheduler.note(f"put {key} {word} {metadata}")
        if metadata:
            self.model.waits(key, word)
            if any(each.name.endswith("/promote") for each in self.scheduler.actors):
                self.model.may_go_live(key, [word])  # with all that waits when that promotion ends
        stored = self.bucket.put(key, text.encode(), media_type="text/markdown", metadata=metadata)
        self.word_of[stored.version_id] = word

    def delete(self) -> None:
        """A user deletes in the bucket."""
        key = self.pick_path()
        if self.bucket.text(key) is not None:
            self.scheduler.note(f"delete {key}")
            self.bucket.delete(key)

    def undo(self) -> None:
        """The newest version, or the delete marker on top, is removed: what was below is current again."""
        key = self.pick_path()
        newest = self.bucket.newest(key)
        if newest is not None and key not in STAGED:
            self.scheduler.note(f"undo {key}")
            self.bucket.remove_version(key, newest[0])

    def rule(self) -> None:
        """Who may read the vault changes, or is left open."""
        groups = (None, ["*"], ["hr"], [])[self.choices.pick(4)]
        self.scheduler.note(f"rule {groups}")
        if groups is None:
            self.bucket.delete(RULES)
        else:
            body = {"access": [{"path": "**", "groups": groups}]}
            self.bucket.put(RULES, json.dumps(body).encode(), media_type="application/json")

    def sidecar(self) -> None:
        """Metadata beside a document changes, or goes."""
        key = f"{self.pick_path()}{SIDECAR_SUFFIX}"
        if self.choices.chance(0.3) and self.bucket.text(key) is not None:
            self.bucket.delete(key)
        else:
            level = ("standard", "critical")[self.choices.pick(2)]
            self.bucket.put(key, json.dumps({"promotion_level": level}).encode(), media_type="application/json")

    def delete_by_api(self) -> None:
        """From the answer on nothing of what was deleted is seen."""
        key = self.pick_path()
        who, path = self.owner(key), f"/documents/{key.partition('/')[2]}"
        purge = self.choices.chance(0.3)
        begin = self.model.last(key) if key in self.model.timeline else 0
        waited = self.model.now().waiting
        if purge:
            self.model.purging.add(key)

        def judge(status: int, _body: Any, _text: str) -> None:
            timeline = self.model.timeline.get(key)
            if status < 300 and timeline is not None:
                place = next((at for at in range(begin, len(timeline)) if timeline[at] is None), None)
                if place is None:
                    raise Violation(f"lost-delete {key} was deleted, and the bucket has it")
                self.model.gone(key, place, waited=waited, purge=purge)

        self.http(who, "DELETE", f"{path}?purge=1" if purge else path, None, judge)

    def owner(self, key: str) -> Who:
        """Who may write a document."""
        return self.admin if key.startswith("acme/") else self.callers[2]

    def search(self) -> None:
        """A user asks for all documents at once."""
        who = self.callers[self.choices.pick(len(self.callers))]
        question = QUESTIONS[self.choices.pick(len(QUESTIONS))]
        self.ask_all(who, question)

    def ask_all(self, who: Who, question: str) -> None:
        """A search that must give all that there is."""
        since = self.model.now()
        body = {"query": question, "limit": 20, "min_relevance": 0.0}

        def judge(status: int, found: Any, text: str) -> None:
            if status != 200:
                return
            paths = [(each["vault"], each["path"]) for each in found["results"]]
            if len(paths) != len(set(paths)):
                raise Violation(f"twice {paths}")
            complete = not found["degraded"] and found["served_by"] != "cache"
            self.searches += 1
            self.model.saw(text, since, who.reads, complete=complete)

        self.http(who, "POST", "/search", body, judge)

    def preview(self) -> None:
        """A user asks what the stage would change."""
        who = self.callers[self.choices.pick(len(self.callers))]
        since, waiting = self.model.now(), self.waiting()
        if "plan" in self.tenant("acme").vaults:
            self.staged_s = min(self.staged_s, CLOCK.now_s)
        is_heard = CLOCK.now_s > self.staged_s + self.model.heard_s

        def judge(status: int, found: Any, text: str) -> None:
            if status != 200:
                return
            self.model.saw(text, since, who.reads, complete=False, staged=True)
            rules = self.model.rules[since.rule :]
            for key, (_, word) in (waiting.items() & self.waiting().items()) if is_heard else ():
                readable = all(who.reads(key, rule, self.model.stated.get(word)) for rule in rules)
                if readable and not found["degraded"] and word not in text:
                    raise Violation(f"unstaged {key} ({word}) waits, and is not seen")

        body = {"query": QUESTIONS[0], "limit": 20, "min_relevance": 0.0, "stage": SPRING}
        self.http(who, "POST", "/search", body, judge)

    def waiting(self) -> dict[str, tuple[int, str]]:
        """What waits in the stage by the registry: revision and word of each key."""
        heads = {key: self.registry.head(DocumentKey.parse(key)) for key in STAGED}
        return {
            key: (head.revision, self.word_of[head.version_id])
            for key, head in heads.items()
            if head is not None and head.status is Status.STAGED and head.version_id in self.word_of
        }

    def promote(self) -> None:
        """A writer lets the stage go live: all of it that waits by then."""
        waiting, sure = self.waiting(), {}
        for key in filter(self.model.timeline.__contains__, STAGED):
            head, there = self.registry.head(DocumentKey.parse(key)), self.bucket.head(key)
            begun = head is not None and head.stage is not None and head.status in {Status.STAGED, Status.PENDING}
            word = self.word_of.get(head.version_id or "") if begun and head is not None else None
            top = self.word_of[there.version_id] if there is not None else None
            words = [top] if word is not None or top in self.model.by_stage else []
            place = self.model.may_go_live(key, words if word in {None, top} else [word, *words])
            if key in waiting and waiting[key][1] == top:
                sure[key] = place

        def judge(status: int, _found: Any, _text: str) -> None:
            heads = {key: self.registry.head(DocumentKey.parse(key)) for key in sure}
            same = {key for key, head in heads.items() if head is not None and head.revision == waiting[key][0]}
            if status == 200 and same:
                self.model.promoted({key: sure[key] for key in same if self.model.last(key) == sure[key]})

        self.http(self.admin, "POST", f"/stages/plan/{SPRING}/promote", None, judge)

    def discard(self) -> None:
        """A writer removes what waits."""
        self.http(self.admin, "POST", f"/stages/plan/{SPRING}/discard", None, lambda *_: None)

    def look_back(self) -> None:
        """A user asks as of a past moment."""
        past = [each for each in self.moments if each.at_s < CLOCK.now_s - 60.0]
        if not past:
            return
        then = past[self.choices.pick(len(past))]
        who = self.callers[self.choices.pick(len(self.callers))]
        since = self.model.now()

        def judge(status: int, found: Any, text: str) -> None:
            if status == 200:
                complete = not (found["degraded"] or found["warnings"])
                self.model.saw_past(text, then, since, who.reads, complete=complete)

        as_of = rfc3339(then.at_s, precision="milliseconds")
        body = {"query": QUESTIONS[0], "limit": 20, "min_relevance": 0.0, "as_of": as_of}
        self.http(who, "POST", "/search", body, judge)

    def ask(self) -> None:
        """A user asks; the model repeats every word that it is shown."""
        who = self.callers[self.choices.pick(len(self.callers))]
        since = self.model.now()

        def judge(status: int, found: Any, text: str) -> None:
            if status == 200:
                cited = self.floors_at_reply.pop(self.scheduler.current, since)
                self.model.saw(json.dumps(found["citations"]), cited, who.reads, complete=False)
                self.model.saw(text, since, who.reads, complete=False)

        self.http(who, "POST", "/ask", {"query": QUESTIONS[0], "min_relevance": 0.0}, judge)

    def agent(self) -> None:
        """An agent searches."""
        who = self.callers[self.choices.pick(len(self.callers))]
        since = self.model.now()
        asked = {"name": "rag_context_search", "arguments": {"query": QUESTIONS[0], "limit": 20}}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": asked}

        def judge(status: int, _found: Any, text: str) -> None:
            if status == 200:
                self.model.saw(text, since, who.reads, complete=False)

        self.http(who, "POST", "/mcp", message, judge)

    def read(self) -> None:
        """A user reads the text of one document, which may be another's."""
        key = self.pick_path()
        who = self.callers[self.choices.pick(len(self.callers))] if self.choices.chance(0.3) else self.owner(key)
        since = self.model.now()

        def judge(status: int, _found: Any, text: str) -> None:
            if status == 200:
                self.model.saw(text, since, who.reads, complete=False)

        self.http(who, "GET", f"/documents/{key.partition('/')[2]}?content=1", None, judge)

    def deliver(self) -> None:
        """Lambda takes a batch of either queue."""
        bulk = self.choices.chance(0.3)
        waiting = self.queue.visible(bulk=bulk)
        if not waiting:
            return
        count = 1 + self.choices.pick(min(5, len(waiting)))
        chosen = [waiting.pop(self.choices.pick(len(waiting))) for _ in range(count)]
        if self.choices.chance(0.1):
            self.queue.repeat(chosen[0])
        self.ingest(chosen)

    def ingest(self, chosen: list[Any]) -> None:
        """One invocation of ingest."""
        free = [each for each in self.environments if each.kind == "ingest" and not each.is_busy]
        if not free and sum(each.kind == "ingest" for each in self.environments) >= AT_ONCE["ingest"]:
            return
        event = self.queue.batch(chosen)

        def work(environment: Environment, ends_s: float) -> None:
            deadline = Deadline(ends_s - 5.0, clock=CLOCK)
            failed = environment.app.ingest.reconcile(deliveries(event), deadline)
            again = {delivery.receipt_handle for delivery in failed}
            for record in event["Records"]:
                if record["receiptHandle"] not in again:
                    self.queue.acknowledge(record["receiptHandle"])

        self.invoke("ingest", f"ingest {', '.join(each.id for each in chosen)}", work)

    def sweep(self) -> None:
        """The schedule compares bucket, registry and index."""

        def work(environment: Environment, ends_s: float) -> None:
            environment.app.operate.sweep_tenants(Deadline(ends_s, clock=CLOCK))

        self.invoke("sweep", "sweep", work)

    def reindex(self) -> None:
        """An operator builds the index again, and drops the one before, or goes back to it."""
        goes_back = self.choices.chance(0.5)

        def work(environment: Environment, _ends_s: float) -> None:
            reindex = environment.app.operate.reindex
            tenant = self.tenant("acme")
            if tenant.previous is not None and goes_back:
                reindex.rollback("acme")
            elif tenant.previous is not None:
                reindex.drop_previous("acme")
            else:
                reindex.run("acme", replace(tenant.active, name=""), again=True)

        self.invoke("operator", "reindex", work)

    def roll_back(self) -> None:
        """A writer takes a vault back to a moment."""
        moment = rfc3339(CLOCK.now_s - float(self.choices.pick(60)), precision="milliseconds")
        body = {"to": moment, "allow_mass_delete": True}
        self.http(self.admin, "POST", "/vaults/team/rollback", body, lambda *_: None)

    def wait(self) -> None:
        """Time passes, and what was is the past."""
        if self.focus == PLANS and len(self.moments) < MAX_MOMENTS:
            self.moments.append(self.model.moment())
        self.pass_time((1.0, 10.0, 65.0, 400.0, 2_000.0, 4_000.0)[self.choices.pick(6)])

    def pass_time(self, seconds: float) -> None:
        """What runs longer than it may is cut off."""
        CLOCK.advance(max(seconds, 0.0))

    def freeze(self) -> None:
        """An environment that was warm is given up."""
        idle = [each for each in self.environments if not each.is_busy]
        if idle:
            self.environments.remove(idle[self.choices.pick(len(idle))])

    STEPS: tuple[Callable[[History], None], ...] = (
        nothing,
        *[search] * 8,
        *[put] * 5,
        *[deliver] * 12,
        delete,
        *[delete_by_api] * 2,
        *[wait] * 2,
        *[ask] * 2,
        *[read] * 2,
        agent,
        undo,
        *[sidecar] * 4,
        *[rule] * 2,
        sweep,
        reindex,
        roll_back,
        freeze,
    )
    FOCI: tuple[tuple[Callable[[History], None], ...], ...] = (
        (),
        (*[put] * 12, *[undo] * 4, *[deliver] * 24, *[search] * 8, *[freeze] * 3),
        (*[reindex] * 10, *[put] * 5, *[deliver] * 10),
        (*[stage] * 8, *[preview] * 6, *[promote] * 6, discard, *[deliver] * 16, *[look_back] * 8, *[wait] * 4),
    )
    """What happens more often in some universes."""

    # The end

    def rest(self) -> None:
        """Everything that runs ends; then all messages, sweeps, and the comparison of answers with the bucket."""
        self.scheduler.is_calm = True
        self.scheduler.note("rest")
        self.finish()
        CLOCK.advance(VISIBILITY_S + 1)
        self.drain()
        while self.queue.redrive():
            self.drain()
        self.promote_all()
        if not self.scheduler.weather.lost_event:
            self.compare()  # no sweep is needed for what messages brought
            self.all_ask()
        for _ in range(3):
            CLOCK.advance(VISIBILITY_S + 1)
            self.drain()
            CLOCK.advance(2 * 3_600.0)
            self.sweep()
            self.finish()
            while self.queue.redrive():
                pass
            self.drain()
        CLOCK.advance(CACHE_S + 61)
        self.drain()
        self.promote_all()
        self.all_ask()
        self.all_ask()  # from the cache
        self.compare()
        self.compare_counts()

    def promote_all(self) -> None:
        """Nothing waits any more."""
        if self.waiting():
            self.promote()
            self.finish()
            CLOCK.advance(VISIBILITY_S + 1)
            self.drain()

    def all_ask(self) -> None:
        """Each credential sees the newest state, and nothing else."""
        self.model.settled()
        for who in self.callers:
            self.ask_all(who, QUESTIONS[0])
            self.finish()

    def drain(self) -> None:
        """Let ingest take every message until none is left."""
        for _ in range(200):
            waiting = [*self.queue.visible(bulk=False), *self.queue.visible(bulk=True)]
            if not waiting:
                if not self.queue.messages:
                    return
                CLOCK.advance(max(0.0, min(each.visible_s for each in self.queue.messages) - CLOCK.now_s))
                continue
            self.ingest([each for each in waiting if each.bulk is waiting[0].bulk][:5])
            self.finish()
        raise Violation("endless messages are never done with")


@contextmanager
def history(seed: int, functions: Functions, choices: list[int] | None = None, **named: int) -> Iterator[History]:
    """A history whose universe is cleared away at its end."""
    made = History(seed, functions, choices, **named)
    try:
        yield made
    finally:
        made.close()
