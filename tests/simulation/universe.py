"""One universe: tenants, users and whole functions over simulated services, from a seed or from a list of choices."""

from __future__ import annotations

import asyncio
import json
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError, ReadTimeoutError

from bucketindex.index import BucketChunkIndex
from ragdrop.api.apis import generate_api, search_first_api
from ragdrop.api.mcp.mcp_route import mcp_api
from ragdrop.app import App, Ports, compose
from ragdrop.config import Settings
from ragdrop.domain.deadlines import Deadline, rfc3339
from ragdrop.domain.documents import Head, Status
from ragdrop.domain.keys import SIDECAR_SUFFIX, DocumentKey
from ragdrop.domain.tenants import Tenant
from ragdrop.errors import (
    CallerError,
    DatabaseError,
    DependencyError,
    EmbeddingServiceError,
    GenerationError,
    ObjectStoreError,
    QueueError,
)
from ragdrop.ingest.revision_store import RevisionStore
from ragdrop.models.prompts import JinjaPrompter
from ragdrop.ports.message_queue import deliveries
from ragdrop.ports.registry import HopLimits
from ragdrop.stores.dynamodb.registry_table import DynamoDbManifests, DynamoDbRegistry
from testing.memory_breakers import MemoryBreakers
from testing.memory_chunk_index import MemoryChunkIndex
from testing.memory_services import MemoryMetrics, MemoryModelList, MemoryWiring
from testing.memory_telemetry import (
    MemoryReceipts,
    MemoryRequestCounts,
    MemoryStoredReplies,
    MemoryTelemetry,
    MemoryVisitedCache,
)
from testing.models import HashingEmbedder, ScriptedChatModel
from tests.simulation.dynamodb import SimulatedDynamoDb
from tests.simulation.model import WORD, Model, Violation
from tests.simulation.process import CLOCK, START_S
from tests.simulation.scheduler import Actor, Choices, Scheduler, Simulated, Weather
from tests.simulation.services import VISIBILITY_S, SimulatedBucket, SimulatedQueue
from tests.world import DIMENSION, ENVIRONMENT

PATHS = ("acme/team/a.md", "acme/team/b.md", "acme/side/c.md", "other/team/a.md")
QUESTIONS = ("filler", "filler pump", "what is the filler?")
LINKS = "See [[a]], [[b]], [c](../side/c.md), [d](../team/a.md)."
CACHE_S = 300.0  # an answer from a cache may lack a document that is this young
SETTINGS = {**ENVIRONMENT, "LINKS_ACROSS_VAULTS": "true", "CACHE_TTL_S": str(int(CACHE_S))}
LIMITS_S = {"ingest": 300.0, "query": 29.0, "generate": 29.0, "mcp": 29.0, "sweep": 900.0, "operator": 3_600.0}
AT_ONCE = {"ingest": 3, "query": 3, "generate": 2, "mcp": 1, "sweep": 1, "operator": 1}
PROMPTER = JinjaPrompter()  # it compiles a template once
MEMORY = (Path("/dev/shm"),)  # noqa: S108 - folders of our own are made there, where a write costs no disk
PART_CHARACTERS = 900  # a document of three pages has parts, which go from worker to worker
MAX_ACTORS = 6
TURNS = 4  # of so many turns one is a step of a user, the others are those of actors
WEATHERS = (
    Weather(),
    Weather(crash=0.01),
    Weather(error=0.02),
    Weather(switch=0.6, crash=0.004, error=0.008, slow=0.05, lost_event=0.2, second_event=0.2),
)


@dataclass(slots=True)
class Environment:
    """An execution environment: what it composed at its cold start, with all that it cached since."""

    kind: str
    app: App
    folder: Path
    is_busy: bool = False


@dataclass(frozen=True, slots=True)
class Who:
    """A credential: the tenant, and the vaults that it opens; all where none are named."""

    secret: str
    tenant: str
    vaults: tuple[str, ...] = ()

    def may_see(self, key: str, place: int) -> bool:
        """Whether a document is the caller's to see, whatever its *place* in the timeline: rules of access go here."""
        del place
        tenant, vault, _ = key.split("/", 2)
        return tenant == self.tenant and (not self.vaults or vault in self.vaults)


class Late:
    """An object that is looked up at each use: the APIs are built once, for whichever environment runs."""

    def __init__(self, find: Callable[[], Any]) -> None:
        self._find = find

    def __getattr__(self, name: str) -> Any:
        if name in {"tenants", "directory"}:
            return Late(lambda: getattr(self._find(), name))
        return getattr(self._find(), name)


class Functions:
    """The ASGI applications of the functions that answer HTTP, built once a process."""

    def __init__(self) -> None:
        self.scheduler: Scheduler | None = None
        self._loops: list[asyncio.AbstractEventLoop] = []
        app: Any = Late(self._app)
        self._first: App | None = compose(Ports(Settings.from_environment(SETTINGS)))
        self.apis: dict[str, Any] = {"query": search_first_api(app), "generate": generate_api(app)}
        self.apis["mcp"] = mcp_api(app)
        self.apis["query"].rest  # noqa: B018 - built now, while no environment runs
        self._first = None

    def _app(self) -> App:
        if self._first is not None:
            return self._first
        assert self.scheduler is not None
        assert self.scheduler.current is not None
        app: App = self.scheduler.current.environment.app
        return app

    def request(self, function: str, method: str, path: str, secret: str, body: Any, ends_s: float) -> tuple[int, str]:
        """Status and body of one request, in the environment of the current actor."""
        route, _, query = path.partition("?")
        sent = b"" if body is None else json.dumps(body).encode()
        scope = {
            "type": "http",
            "method": method,
            "path": route,
            "raw_path": route.encode(),
            "root_path": "",
            "scheme": "https",
            "http_version": "1.1",
            "query_string": query.encode(),
            "server": ("api.example", 443),
            "client": ("127.0.0.1", 1),
            "headers": [(b"x-api-key", secret.encode()), (b"content-type", b"application/json")],
            "aws.context": Left(ends_s),
        }
        status, chunks = 0, []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": sent, "more_body": False}

        async def send(message: dict[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            else:
                chunks.append(message.get("body", b""))

        loop = self._loops.pop() if self._loops else asyncio.new_event_loop()
        loop.run_until_complete(self.apis[function](scope, receive, send))
        self._loops.append(loop)  # that of a crash is left alone
        return status, b"".join(chunks).decode()


@dataclass(frozen=True, slots=True)
class Left:
    """What `deadline_of` reads of a Lambda context."""

    ends_s: float

    def get_remaining_time_in_millis(self) -> float:
        """Milliseconds until the function is cut off."""
        return (self.ends_s - CLOCK.now_s) * 1_000


class Universe:
    """A history from its first to its last moment; `run` raises Violation where an answer is not what it may be."""

    def __init__(
        self, seed: int, functions: Functions, choices: list[int] | None = None, *, length: int = 1_500
    ) -> None:
        random.seed(seed)
        CLOCK.now_s = START_S
        self.length = length
        self.choices = Choices(seed, choices)
        self.scheduler = functions.scheduler = Scheduler(self.choices, WEATHERS[seed // 4 % len(WEATHERS)])
        self.on_bucket = seed % 4 == 3  # the real index, which costs twice as much
        self.functions = functions
        self.model = Model()
        self.folder = Path(tempfile.mkdtemp(prefix="simulation-", dir=next(filter(Path.is_dir, MEMORY), None)))
        self.words = self.sequence = 0
        self.environments: list[Environment] = []
        self.searches = 0
        self._services()
        operator = self.environment("operator").app.operate.operator
        for tenant in ("acme", "other"):
            operator.create_tenant(tenant)
        self.admin = Who(operator.create_key("acme", "admin")[0], "acme")
        self.callers = (
            self.admin,
            Who(operator.create_key("acme", "reader", ("side",))[0], "acme", ("side",)),
            Who(operator.create_key("other", "writer")[0], "other"),
        )

    def _services(self) -> None:
        def simulated(name: str, port: Any, error: type[DependencyError] | None, service: str = "") -> Any:
            broken = None if error is None else lambda _label, _after: error("simulated", service=service)
            return Simulated(name, port, self.scheduler, broken)

        def lags() -> bool:
            return self.scheduler.current is not None and not self.scheduler.is_calm and self.choices.chance(0.2)

        self.bucket = SimulatedBucket("documents", CLOCK, self.changed)
        self.queue = SimulatedQueue(CLOCK)
        tables = SimulatedDynamoDb(CLOCK, lags)
        self.registry = DynamoDbRegistry("registry", tables)
        dynamodb = Simulated("dynamodb", tables, self.scheduler, broken_table)
        self.floors_at_reply: dict[Actor | None, dict[str, int]] = {}
        self.chat = ScriptedChatModel(self._reply)
        index = MemoryChunkIndex()
        self.ports: dict[str, Any] = {
            "documents": simulated("s3", self.bucket, ObjectStoreError, "object_store"),
            "state": simulated("state", SimulatedBucket("state", CLOCK), ObjectStoreError, "object_store"),
            "registry": DynamoDbRegistry("registry", dynamodb),
            "manifests": DynamoDbManifests("registry", dynamodb),
            "queue": simulated("sqs", self.queue, QueueError, "queue"),
            "embedder": simulated("embedder", HashingEmbedder(DIMENSION), EmbeddingServiceError, "embedding"),
            "chat": simulated("chat", self.chat, GenerationError, "chat"),
            "telemetry": simulated("telemetry", MemoryTelemetry(), DatabaseError, "telemetry"),
            "visited": simulated("visited", MemoryVisitedCache(), DatabaseError, "visited"),
            "receipts": simulated("receipts", MemoryReceipts(), DatabaseError, "telemetry"),
            "stored_replies": simulated("replies", MemoryStoredReplies(), DatabaseError, "telemetry"),
            "request_counts": simulated("requests", MemoryRequestCounts(), DatabaseError, "telemetry"),
            "breaker_store": simulated("breakers", MemoryBreakers(), DatabaseError, "telemetry"),
            "embedding_models": MemoryModelList("hashing"),
            "chat_models": MemoryModelList("scripted"),
            "wiring": MemoryWiring(),
            "prompter": PROMPTER,
            "hop_limits": HopLimits(idle_hops=1_000),
        }
        self.ports["revisions"] = RevisionStore(self.ports["state"], part_characters=PART_CHARACTERS)
        if not self.on_bucket:
            self.ports["index"] = simulated("index", index, DatabaseError, "index")

    def _reply(self, messages: Any) -> str:
        """Say every word of the sources; what is deleted by now may not be cited."""
        self.floors_at_reply[self.scheduler.current] = self.model.now()
        return f"It says {' '.join(dict.fromkeys(WORD.findall(str(messages[-1]))))} [1]."

    def environment(self, kind: str) -> Environment:
        """A cold start."""
        folder = self.folder / f"{len(self.environments)}-{kind}-{self.scheduler.operations}"
        ports = Ports(Settings.from_environment(SETTINGS), clock=CLOCK)
        given = {**self.ports, "metrics": MemoryMetrics(), "index_folder": folder}
        if self.on_bucket:
            state, manifests = self.ports["state"], self.ports["manifests"]
            index = BucketChunkIndex(state, manifests, folder, max_bytes=1 << 30, merge_above=2, clock=CLOCK)
            given |= {"index": index, "bucket_index": index}
        made = Environment(kind, compose(ports.replace(**given)), folder)
        self.environments.append(made)
        return made

    # What happens

    def live(self) -> None:
        """Let things happen until the choices are over."""
        scheduler, choices = self.scheduler, self.choices
        while len(choices.made) < self.length and not choices.are_over:
            ready, steps = scheduler.ready(), len(self.STEPS)
            choice = choices.pick(TURNS * steps)
            if ready and (choice < (TURNS - 1) * steps or len(scheduler.actors) >= MAX_ACTORS):
                self.turn(ready[choice % len(ready)])
            elif len(scheduler.actors) < MAX_ACTORS:
                scheduler.operations += 1
                self.STEPS[choice % steps](self)
            else:
                self.pass_time(min(actor.wakes_s for actor in scheduler.actors) - CLOCK.now_s)

    def close(self) -> None:
        """End what still runs."""
        for actor in list(self.scheduler.actors):
            self.scheduler.kill(actor)
        shutil.rmtree(self.folder, ignore_errors=True)

    def turn(self, actor: Actor) -> None:
        """Let an actor go on."""
        self.scheduler.resume(actor)
        if actor.is_over:
            actor.environment.is_busy = False
            if actor.is_dead:
                self.environments.remove(actor.environment)

    def invoke(self, kind: str, name: str, work: Callable[[Environment, float], None]) -> None:
        """Let a function begin in an environment that is warm or new; nothing happens where too many run."""
        warm = [each for each in self.environments if each.kind == kind]
        idle = [each for each in warm if not each.is_busy]
        if not idle and len(warm) >= AT_ONCE[kind]:
            return
        fresh = not idle or (len(warm) < AT_ONCE[kind] and self.choices.chance(0.1))
        environment = self.environment(kind) if fresh else idle[self.choices.pick(len(idle))]
        environment.is_busy = True
        limit_s = LIMITS_S[kind]
        ends_s = CLOCK.now_s + limit_s

        def invocation() -> None:
            try:
                work(environment, ends_s)
            except (DependencyError, CallerError) as exc:  # the function fails, and its environment stays
                self.scheduler.note(f"{name} fails: {exc}")

        self.scheduler.note(f"{name} begins")
        self.scheduler.start(name, environment, invocation, limit_s=limit_s)

    def http(self, who: Who, method: str, path: str, body: Any, judge: Callable[[int, Any, str], None]) -> None:
        """A request of a user, and what becomes of its answer; one that is not answered is not judged."""
        kind = {"/ask": "generate", "/mcp": "mcp"}.get(path, "query")

        def work(_environment: Environment, ends_s: float) -> None:
            status, text = self.functions.request(kind, method, path, who.secret, body, ends_s)
            self.scheduler.note(f"{method} {path} -> {status}")
            if status == 500:
                raise Violation(f"error {method} {path} gave {text}")
            judge(status, json.loads(text), text)

        self.invoke(kind, f"{method} {path}", work)

    def changed(self, key: str) -> None:
        """The bucket reports a change: the model hears of it at once, ingest by an event, or never, or twice."""
        document = key.removesuffix(SIDECAR_SUFFIX)
        if document == key:
            body = self.bucket.text(key)
            word = next(iter(WORD.findall(body.decode())), None) if body is not None else None
            self.model.changed(key, word)
        self.sequence += 1
        calm, weather, choices = self.scheduler.is_calm, self.scheduler.weather, self.choices
        if not calm and choices.chance(weather.lost_event):
            self.scheduler.note(f"the event of {key} is lost")
            return
        self.queue.report(key, f"{self.sequence:018X}", 0.0)
        if not calm and choices.chance(weather.second_event):
            self.queue.report(key, f"{self.sequence:018X}", float(choices.pick(100)))

    # Steps of users and of the world

    def nothing(self) -> None:
        """The plainest step."""

    def pick_path(self) -> str:
        """A document, often the same."""
        return PATHS[(0, 0, 0, 1, 2, 3)[self.choices.pick(6)]]

    def put(self) -> None:
        """A user puts a new version, with a word of its own, and links to the others."""
        key = self.pick_path()
        self.words += 1
        word = f"zq{self.words}x"
        level = ("", "", "promotion_level: critical\n")[self.choices.pick(3)]
        parts = (1, 1, 1, 1, 3)[self.choices.pick(5)]
        pages = [f"# {word} page {page}\n\nThe filler pump {word}. {LINKS}\n" for page in range(parts)]
        text = f"---\ncategory: one\n{level}---\n" + f"\n{'filler ' * 90}\n\n".join(pages)
        self.scheduler.note(f"put {key} {word}")
        self.bucket.put(key, text.encode(), media_type="text/markdown")

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
        if newest is not None:
            self.scheduler.note(f"undo {key}")
            self.bucket.remove_version(key, newest[0])

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
        begun = dict.fromkeys([key], self.model.last(key) if key in self.model.timeline else None)

        def judge(status: int, _body: Any, _text: str) -> None:
            timeline = self.model.timeline.get(key)
            begin = begun[key] or 0
            if status < 300 and timeline is not None:
                place = next((at for at in range(begin, len(timeline)) if timeline[at] is None), None)
                if place is None:
                    raise Violation(f"lost-delete {key} was deleted, and the bucket has it")
                self.model.gone(key, place)

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
            self.model.saw(text, since, who.may_see, complete=complete)

        self.http(who, "POST", "/search", body, judge)

    def ask(self) -> None:
        """A user asks; the model repeats every word that it is shown."""
        who = self.callers[self.choices.pick(len(self.callers))]
        since = self.model.now()

        def judge(status: int, found: Any, text: str) -> None:
            if status == 200:
                cited = self.floors_at_reply.pop(self.scheduler.current, since)
                self.model.saw(json.dumps(found["citations"]), cited, who.may_see, complete=False)
                self.model.saw(text, since, who.may_see, complete=False)

        self.http(who, "POST", "/ask", {"query": QUESTIONS[0], "min_relevance": 0.0}, judge)

    def agent(self) -> None:
        """An agent searches."""
        who = self.callers[self.choices.pick(len(self.callers))]
        since = self.model.now()
        asked = {"name": "rag_context_search", "arguments": {"query": QUESTIONS[0], "limit": 20}}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": asked}

        def judge(status: int, _found: Any, text: str) -> None:
            if status == 200:
                self.model.saw(text, since, who.may_see, complete=False)

        self.http(who, "POST", "/mcp", message, judge)

    def read(self) -> None:
        """A user reads the text of one document, which may be another's."""
        key = self.pick_path()
        who = self.callers[self.choices.pick(len(self.callers))] if self.choices.chance(0.3) else self.owner(key)
        since = self.model.now()

        def judge(status: int, _found: Any, text: str) -> None:
            if status == 200:
                self.model.saw(text, since, who.may_see, complete=False)

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
        """An operator builds the index again, and drops the one before."""

        def work(environment: Environment, _ends_s: float) -> None:
            reindex = environment.app.operate.reindex
            tenant = self.tenant("acme")
            if tenant.previous is not None:
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
        """Time passes."""
        self.pass_time((1.0, 10.0, 65.0, 400.0, 2_000.0, 4_000.0)[self.choices.pick(6)])

    def pass_time(self, seconds: float) -> None:
        """What runs longer than it may is cut off."""
        CLOCK.advance(max(seconds, 0.0))

    def freeze(self) -> None:
        """An environment that was warm is given up."""
        idle = [each for each in self.environments if not each.is_busy]
        if idle:
            self.environments.remove(idle[self.choices.pick(len(idle))])

    STEPS: tuple[Callable[[Universe], None], ...] = (
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
        *[sidecar] * 2,
        sweep,
        reindex,
        roll_back,
        freeze,
    )

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
        if not self.scheduler.weather.lost_event:
            self.compare()  # no sweep is needed for what messages brought
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
        self.model.settled()
        for who in self.callers:
            for _ in range(2):  # the second from the cache
                self.ask_all(who, QUESTIONS[0])
                self.finish()
        self.compare()
        self.compare_counts()

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

    def finish(self) -> None:
        """Let all that runs end, one after the other."""
        while self.scheduler.actors:
            ready = self.scheduler.ready()
            if not ready:
                CLOCK.advance(min(actor.wakes_s for actor in self.scheduler.actors) - CLOCK.now_s)
                continue
            self.turn(ready[0])

    def compare(self) -> None:
        """Registry and index equal the bucket."""
        for key in PATHS:
            head = self.registry.head(DocumentKey.parse(key))
            there = self.bucket.head(key)
            if there is None:
                if head is not None and (head.status is not Status.DELETED or head.live_revision is not None):
                    raise Violation(f"unequal {key} is gone, and the registry says {shown(head)}")
                continue
            sidecar = self.bucket.head(key + SIDECAR_SUFFIX)
            expected = Status.INDEXED, there.version_id, sidecar.version_id if sidecar else None
            found = (head.status, head.live_version_id, head.live_sidecar_version_id) if head else None
            if found != expected:
                raise Violation(f"unequal {key} is {expected}, and the registry says {shown(head)}")

    def compare_counts(self) -> None:
        """What was counted is what is there."""
        for name in ("acme", "other"):
            heads = [self.registry.head(DocumentKey.parse(key)) for key in PATHS if key.startswith(f"{name}/")]
            count = sum(head is not None and head.live_revision is not None for head in heads)
            if self.tenant(name).documents != count:
                raise Violation(f"miscounted {name} has {count} documents, not {self.tenant(name).documents}")

    def tenant(self, name: str) -> Tenant:
        """A tenant's item, read past the scheduler."""
        tenant = self.registry.tenant(name)
        assert tenant is not None
        return tenant


def broken_table(label: str, took_effect: bool) -> Exception:
    """What botocore raises: a transaction may meet another one, and any call may be answered by nobody."""
    if label.endswith("transact_write_items") and not took_effect:
        reasons = [{"Code": "TransactionConflict"}]
        error = {"Code": "TransactionCanceledException", "Message": "simulated"}
        return ClientError({"Error": error, "CancellationReasons": reasons}, "TransactWriteItems")
    return ReadTimeoutError(endpoint_url="https://dynamodb")


def shown(head: Head | None) -> str:
    """A head, in a line."""
    return "nothing" if head is None else f"{head.status.name} of {head.version_id}, live {head.live_version_id}"


@contextmanager
def universe(seed: int, functions: Functions, choices: list[int] | None = None, **named: int) -> Iterator[Universe]:
    """A universe that is cleared away at its end."""
    made = Universe(seed, functions, choices, **named)
    try:
        yield made
    finally:
        made.close()
