"""One universe: tenants and whole functions over simulated services; what happens in it is in `history`."""

from __future__ import annotations

import json
import math
import random
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError, ReadTimeoutError

from bucketindex.index import BucketChunkIndex
from ragdrop.app import App, Ports, compose
from ragdrop.config import Settings
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
from ragdrop.ports.registry import HopLimits
from ragdrop.stores.dynamodb.items import HEAD_SK
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
from tests.simulation.dynamodb import SimulatedDynamoDb, Stored, plain_item
from tests.simulation.functions import SETTINGS, Functions
from tests.simulation.model import HEARD_S, LATE_S, WORD, Groups, Model, Moment, Since, Violation
from tests.simulation.process import CLOCK, START_S
from tests.simulation.scheduler import Actor, Choices, Scheduler, Simulated, Weather
from tests.simulation.services import SimulatedBucket, SimulatedQueue
from tests.world import DIMENSION

STAGED = ("acme/plan/s.md", "acme/plan/t.md")  # what is put into the stage of their vault, and past it
VERSIONS = ("version_id", "sidecar_version_id")
PATHS = ("acme/team/a.md", "acme/team/b.md", "acme/side/c.md", "other/team/a.md", *STAGED)
RULED = "acme/team"  # the vault with rules of access
RULES = f"{RULED}/.ragdrop.json"
QUESTIONS = ("filler", "filler pump", "what is the filler?")
LINKS = "See [[a]], [[b]], [c](../side/c.md), [d](../team/a.md)."
CACHE_S = 300.0  # an answer from a cache may lack a document that is this young
LIMITS_S = {"ingest": 300.0, "query": 29.0, "generate": 29.0, "mcp": 29.0, "sweep": 900.0, "operator": 3_600.0}
AT_ONCE = {"ingest": 3, "query": 3, "generate": 2, "mcp": 1, "sweep": 1, "operator": 1}
PROMPTER = JinjaPrompter()  # it compiles a template once
PART_CHARACTERS = 900  # a document of three pages has parts, which go from worker to worker
MAX_ACTORS = 6
SHARD_CHUNKS = 1
TURNS = 4  # of so many turns one is a step of a user, the others are those of actors
WEATHERS = (
    Weather(),
    Weather(crash=0.01, slow=0.06),
    Weather(slow=0.12, slow_s=4.0),
    Weather(slow=0.12, slow_s=4.0, switch=0.1),
    Weather(error=0.02),
    Weather(error=0.08),
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
class Worker:
    """What answers for shards."""

    index: BucketChunkIndex

    def answer(self, request: Any, deadline: Any) -> Any:
        """The answer of one shard."""
        return self.index.answer_shard(request, deadline)


@dataclass(frozen=True, slots=True)
class Who:
    """A credential: its tenant, the vaults that it opens (all where none are named), and its groups."""

    secret: str
    tenant: str
    vaults: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    is_admin: bool = False

    def reads(self, key: str, rule: Groups, stated: Groups) -> bool:
        """Whether a document is the caller's to read: by tenant, vault, the rule of the vault and its own list."""
        tenant, vault, _ = key.split("/", 2)
        if tenant != self.tenant or (self.vaults and vault not in self.vaults):
            return False
        lists = (rule if f"{tenant}/{vault}" == RULED else None, stated)
        return self.is_admin or all(each is None or each & {*self.groups, "*"} for each in lists)


class Universe:
    """Services, environments and credentials, the scheduler, and the model that judges answers."""

    def __init__(
        self, seed: int, functions: Functions, choices: list[int] | None = None, *, length: int = 3_000
    ) -> None:
        random.seed(seed)
        CLOCK.now_s = START_S
        self.length = length
        self.choices = Choices(seed, choices)
        self.scheduler = functions.scheduler = Scheduler(self.choices, random.choice(WEATHERS))
        self.on_bucket = seed % 4 == 3  # the real index, which costs twice as much
        self.on_shards = seed % 32 == 31  # the real index by shards, of which some are slow or lost
        self.is_hot = random.random() < 0.4
        self.focus = seed // 4 % 4
        self.moments: list[Moment] = []
        self.staged_s = math.inf  # since when the tenant's item has the vault of the stage
        self.word_of: dict[str, str] = {}  # of a version
        self.functions = functions
        self.model = Model(LATE_S if self.scheduler.weather.error else HEARD_S)
        self.folder = Path(tempfile.mkdtemp(prefix="simulation-"))
        self.words = self.sequence = 0
        self.broken: Violation | None = None
        self.shards: Simulated | None = None
        self.environments: list[Environment] = []
        self.searches = 0
        self._services()
        operator = self.environment("operator").app.operate.operator
        for tenant in ("acme", "other"):
            operator.create_tenant(tenant)
        self.admin = Who(operator.create_key("acme", "admin")[0], "acme", is_admin=True)
        self.callers = (
            self.admin,
            Who(operator.create_key("acme", "reader", ("side",))[0], "acme", ("side",)),
            Who(operator.create_key("other", "admin")[0], "other", is_admin=True),
            Who(operator.create_key("acme", "reader", groups=("hr",))[0], "acme", groups=("hr",)),
            Who(operator.create_key("acme", "reader")[0], "acme"),
        )

    def _services(self) -> None:
        def simulated(name: str, port: Any, error: type[DependencyError] | None, service: str = "") -> Any:
            broken = None if error is None else lambda _label, _after: error("simulated", service=service)
            return Simulated(name, port, self.scheduler, broken)

        def lags() -> bool:
            return self.scheduler.current is not None and not self.scheduler.is_calm and self.choices.chance(0.2)

        self.bucket = SimulatedBucket("documents", CLOCK, self.changed)
        self.queue = SimulatedQueue(CLOCK)
        tables = SimulatedDynamoDb(CLOCK, lags, self.written)
        self.registry = DynamoDbRegistry("registry", tables)
        dynamodb = Simulated("dynamodb", tables, self.scheduler, broken_table)
        self.floors_at_reply: dict[Actor | None, Since] = {}
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
            "sleep": self.scheduler.sleep,
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
            sharded: dict[str, Any] = (
                {"shard_chunks": SHARD_CHUNKS, "ask_shard": self._ask_shard} if self.on_shards else {}
            )
            index = BucketChunkIndex(state, manifests, folder, max_bytes=1 << 30, merge_above=1, clock=CLOCK, **sharded)
            given |= {"index": index, "bucket_index": index}
        made = Environment(kind, compose(ports.replace(**given)), folder)
        self.environments.append(made)
        return made

    def _ask_shard(self, request: Any, deadline: Any) -> Any:
        """Another environment answers for a shard, as JSON: late, or not at all."""
        if self.shards is None:
            worker = BucketChunkIndex(
                self.ports["state"], self.ports["manifests"], self.folder / "shards", max_bytes=1 << 30, clock=CLOCK
            )
            broken = lambda _label, _after: DatabaseError("simulated", service="index")  # noqa: E731
            self.shards = Simulated("shard", Worker(worker), self.scheduler, broken)
        return json.loads(json.dumps(self.shards.answer(json.loads(json.dumps(request)), deadline)))

    # What happens

    def close(self) -> None:
        """End what still runs."""
        for actor in list(self.scheduler.actors):
            self.scheduler.kill(actor)
        shutil.rmtree(self.folder, ignore_errors=True)

    def turn(self, actor: Actor) -> None:
        """Let an actor go on."""
        self.scheduler.resume(actor)
        if self.broken is not None:
            raise self.broken
        if actor.is_over and actor.environment.kind == "ingest" and self.is_ruled():
            self.model.ruled()
        if actor.is_over:
            actor.environment.is_busy = False
            if actor.is_dead:
                self.environments.remove(actor.environment)

    def is_ruled(self) -> bool:
        """Whether the registry has the rules of the newest version of their file, after which no older ones come.

        Rules that are equal do not say so: with those of the version before the last one, the last but one may come.
        """
        stored, head = self.tenant("acme").settings.get("team"), self.registry.head(DocumentKey.parse(RULES))
        there = self.bucket.head(RULES)
        if stored is None or head is None:
            return False
        if there is not None:
            return stored.version_id == there.version_id
        return not stored.values and stored.revision == head.revision

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
            if key == RULES:
                self.model.rules.append(rule_in(body))
            elif key in PATHS:
                word = next(iter(WORD.findall(body.decode())), None) if body is not None else None
                if word not in self.model.by_stage:
                    self.model.changed(key, word)
        self.report(key)

    def written(self, before: Stored, after: Stored) -> None:
        """A head may change: a revision is of one version, none is claimed twice, and none but the newest goes live."""
        if not (after and before) or after["SK"]["S"] != HEAD_SK:
            return
        was, now = (plain_item(each) for each in (before, after))
        if now["revision"] < was["revision"]:
            self.broken = Violation(f"backwards {now} after {was}")
        if now["revision"] == was["revision"] and any(now.get(name) != was.get(name) for name in VERSIONS):
            self.broken = Violation(f"reclaimed {now} after {was}")
        if now.get("live_revision") not in {None, was.get("live_revision"), now["revision"]}:
            self.broken = Violation(f"outdated {now} after {was}")

    def report(self, key: str) -> None:
        """S3 sends an event, or loses it, or sends it twice."""
        self.sequence += 1
        calm, weather, choices = self.scheduler.is_calm, self.scheduler.weather, self.choices
        if not calm and choices.chance(weather.lost_event):
            self.scheduler.note(f"the event of {key} is lost")
            return
        self.queue.report(key, f"{self.sequence:018X}", 0.0)
        if not calm and choices.chance(weather.second_event):
            self.queue.report(key, f"{self.sequence:018X}", float(choices.pick(100)))

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


def rule_in(body: bytes | None) -> Groups:
    """The groups of the one rule of a settings file; None where there is none."""
    rules = None if body is None else json.loads(body).get("access")
    return frozenset(rules[0]["groups"]) if rules else None


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
