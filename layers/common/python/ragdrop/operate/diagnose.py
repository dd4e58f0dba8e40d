"""Diagnose: the steps of `ragdrop doctor` that check a deployment from inside."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import mean
from typing import Literal
from urllib.parse import urlsplit

from ragdrop.domain.access import NOBODY, read_rules
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.models import EmbeddingSpace
from ragdrop.errors import GUARDRAIL, THROTTLED, GenerationError, RagdropError
from ragdrop.operate.health import faults_of
from ragdrop.operate.restore import names_under
from ragdrop.ports.indexes import ChunkIndex
from ragdrop.ports.message_queue import SUBSCRIBED, Wiring
from ragdrop.ports.model_services import ChatModel, Embedder, Message, ModelCatalogue, ModelList, ModelStanding
from ragdrop.ports.object_store import ObjectStore
from ragdrop.ports.registry import Registry, head_pages
from ragdrop.tenants.admission import ADMITTED

STEP_S = 30.0
MAX_PREFIXES = 1_000
PAGE, MAX_PAGES = 1_000, 10  # heads of a vault that are looked at for tags that cannot be read
SERVERLESS = ".aoss.amazonaws.com"
SAMPLES = (
    "The pump stands behind the second door.",
    "Who may restart the server, and when?",
    "def area(radius: float) -> float: return 3.14159 * radius ** 2",
    "Invoices are paid within thirty days.",
    "Das Ventil ist geschlossen, solange die Lampe leuchtet.",
)
Grade = Literal["ok", "warning", "failed", "skipped"]
SLOW_EMBEDDING_MS = 100.0
SLOW_SEARCH_MS = 500.0
FEW_TOKENS = 64  # of a chat model's answer that nobody reads
SAYS_NOTHING = frozenset({THROTTLED, GUARDRAIL, "empty", "content_filter"})  # reasons for which a model gives no text
FEW_AT_ONCE = 50  # a new account has 10: five ingests leave five for questions


@dataclass(frozen=True, slots=True)
class Verdict:
    """How one step went: `detail` says what was seen, `fix` what to do where it is not ok."""

    grade: Grade
    detail: str
    fix: str = ""


def wiring_verdict(wiring: Wiring) -> Verdict:
    """Whether every event that can mean a change arrives, and nothing was given up on.

    >>> wiring_verdict(Wiring(True, frozenset(SUBSCRIBED), 2, 0)).grade
    'ok'
    >>> wiring_verdict(Wiring(True, frozenset({"s3:ObjectCreated:*"}), 0, 0)).detail
    'the queue does not hear of s3:LifecycleExpiration:*, s3:ObjectRemoved:*, s3:ObjectTagging:*'
    >>> wiring_verdict(Wiring(True, frozenset(SUBSCRIBED), 2, 0, concurrency=10)).grade
    'warning'
    """
    missing = sorted(set(SUBSCRIBED) - wiring.events)
    if missing:
        return Verdict(
            "failed", f"the queue does not hear of {', '.join(missing)}", "deploy template.yaml again: sam deploy"
        )
    if not wiring.versioned:
        return Verdict("failed", "the document bucket keeps no versions", "turn versioning on, or deploy again")
    if wiring.dead_letters is None:
        return Verdict("failed", "the queue has no dead-letter queue", "deploy template.yaml again: sam deploy")
    if wiring.dead_letters:
        detail = f"{wiring.dead_letters} changes were given up on"
        return Verdict("warning", detail, "ragdrop ls --failed, fix the cause, then ragdrop retry --dead-letter")
    if wiring.concurrency is not None and wiring.concurrency < FEW_AT_ONCE:
        detail = f"the account runs {wiring.concurrency} functions at once, ingest and questions together"
        fix = "ask AWS for more (Service Quotas, Lambda, Concurrent executions); until then set IngestConcurrency=2"
        return Verdict("warning", detail, f"{fix} and leave ChatConcurrency empty")
    return Verdict("ok", f"all events arrive; {wiring.waiting} messages wait, none was given up on")


def embedding_verdict(dimension: int, norms: Sequence[float], latencies_ms: Sequence[float], required: int) -> Verdict:
    """Whether sample vectors are as long as the index wants them, unit vectors, and quick.

    >>> embedding_verdict(384, [1.0, 1.0], [5.0, 7.0], 384).detail
    '2 vectors of 384 dimensions, norm 1.000, 6 ms on average, 7 ms at most'
    >>> embedding_verdict(768, [1.0], [5.0], 384).grade
    'failed'
    """
    if dimension != required:
        return Verdict(
            "failed",
            f"the model gives {dimension} dimensions, {required} are set",
            "set EMBEDDING_DIMENSION to what the model gives, then ragdrop reindex",
        )
    norm, most = max(norms, key=lambda each: abs(each - 1.0)), max(latencies_ms)
    detail = (
        f"{len(norms)} vectors of {dimension} dimensions, norm {norm:.3f}, {mean(latencies_ms):.0f} ms on average, "
        f"{most:.0f} ms at most"
    )
    if abs(norm - 1.0) > 0.01:
        return Verdict("failed", detail, "a vector that cannot be normalised is all zeros: look at the model")
    if mean(latencies_ms) > SLOW_EMBEDDING_MS:
        return Verdict("warning", detail, "over 100 ms: a nearer service, a smaller model, or more processor time")
    return Verdict("ok", detail)


def latency_verdict(latencies_ms: Sequence[float]) -> Verdict:
    """How long searches took: average, p95 and p99 (nearest rank).

    >>> latency_verdict([10.0] * 99 + [600.0]).detail
    '100 searches: 16 ms on average, p95 10 ms, p99 10 ms'
    """
    ranked = sorted(latencies_ms)
    p95, p99 = (ranked[max(0, -(-len(ranked) * share // 100) - 1)] for share in (95, 99))
    detail = f"{len(ranked)} searches: {mean(ranked):.0f} ms on average, p95 {p95:.0f} ms, p99 {p99:.0f} ms"
    if p99 > SLOW_SEARCH_MS:
        return Verdict("warning", detail, "over 500 ms: timings_ms of a search tell the slow stage; docs/operations.md")
    return Verdict("ok", detail)


def prefix_verdict(unknown: Sequence[str]) -> Verdict:
    """Whether everything in the bucket belongs to a tenant.

    >>> prefix_verdict(["tmp"]).grade
    'warning'
    """
    if not unknown:
        return Verdict("ok", "every prefix of the bucket is an active tenant")
    shown = ", ".join(unknown[:5]) + (f" and {len(unknown) - 5} more" if len(unknown) > 5 else "")
    return Verdict("warning", f"not indexed, no active tenant: {shown}", "ragdrop tenant create NAME, or remove it")


def rules_verdict(broken: Mapping[str, Sequence[str]]) -> Verdict:
    """Whether the rules of access of every vault can be read.

    >>> rules_verdict({"acme/team": ["access[0].groups: not a list of groups"]}).detail
    'only admins read what these rules are about: acme/team: access[0].groups: not a list of groups'
    """
    if not broken:
        return Verdict("ok", "the rules of access of every vault, and tags that name groups, can be read")
    shown = "; ".join(f"{name}: {', '.join(problems[:3])}" for name, problems in list(broken.items())[:5])
    return Verdict("failed", f"only admins read what these rules are about: {shown}", FIXES["permissions"])


def region_verdict(standings: Mapping[str, ModelStanding]) -> Verdict:
    """Whether the region of each model of Amazon Bedrock has it.

    >>> region_verdict({"amazon.rerank-v1:0": ModelStanding(in_region=False)}).detail
    'the region has no amazon.rerank-v1:0'
    """
    missing = [name for name, each in standings.items() if not each.in_region]
    if missing:
        return Verdict("failed", f"the region has no {', '.join(missing)}", FIXES["region"])
    return Verdict("ok", f"the region has {', '.join(standings)}")


def access_verdict(standings: Mapping[str, ModelStanding]) -> Verdict:
    """Whether the account may call each model of Amazon Bedrock that its region has.

    An agreement alone is made by the first call of someone who may subscribe to the model: that is a warning.

    >>> access_verdict({"m": ModelStanding(in_region=True, missing=("agreementAvailability is PENDING",))}).grade
    'warning'
    """
    lacking = {name: each.missing for name, each in standings.items() if each.missing}
    if not lacking:
        return Verdict("ok", "the account may call every model that its region has")
    only_agreements = all(what.startswith("agreement") for each in lacking.values() for what in each)
    detail = "; ".join(f"{name}: {', '.join(each)}" for name, each in lacking.items())
    return Verdict("warning" if only_agreements else "failed", detail, FIXES["access"])


Step = Callable[[Deadline], Verdict]


@dataclass(frozen=True, kw_only=True)
class Diagnose:
    """The steps by name, in order; each raises what its port raises."""

    registry: Registry
    documents: ObjectStore
    state: ObjectStore
    index: ChunkIndex
    index_url: str
    embedder: Embedder
    space: EmbeddingSpace
    chat_models: ModelList
    models: tuple[str, ...]
    look_at_wiring: Callable[[], Wiring]
    catalogue: ModelCatalogue | None = None  # of Amazon Bedrock, if a model of it is set
    bedrock_chat: ChatModel | None = None  # the chat model, if it is one of Amazon Bedrock
    stopwatch: Callable[[], float] = time.perf_counter

    def steps(self) -> Mapping[str, Step]:
        """What is looked at, in the order in which one thing explains the next."""
        steps: dict[str, Step] = {
            "registry": self._tenants,
            "buckets": self._buckets,
            "wiring": lambda _deadline: wiring_verdict(self.look_at_wiring()),
            "prefixes": self._prefixes,
            "permissions": self._permissions,
            "index": self._version,
            "dimension": self._dimensions,
            "embeddings": self._embeddings,
            "chat": self._chat,
        }
        if (catalogue := self.catalogue) is not None:
            steps["region"] = lambda _deadline: region_verdict(catalogue.standings())
            steps["access"] = lambda _deadline: access_verdict(catalogue.standings())
        if (chat := self.bedrock_chat) is not None:
            steps["quota"] = lambda deadline: self._called(chat, deadline, THROTTLED)
            steps["guardrail"] = lambda deadline: self._called(chat, deadline, GUARDRAIL)
        return steps

    def _tenants(self, _deadline: Deadline) -> Verdict:
        names = [tenant.name for tenant in self.registry.tenants()]
        if not names:
            return Verdict("warning", "there is no tenant", "ragdrop tenant create NAME, then ragdrop key create NAME")
        return Verdict("ok", f"{len(names)} tenants can be read")

    def _buckets(self, _deadline: Deadline) -> Verdict:
        """A key that is not there answers 404 only where the bucket may be listed: 403 is an error of the port."""
        for store in (self.documents, self.state):
            store.head("doctor/none")
        return Verdict("ok", f"{self.documents.bucket} and {self.state.bucket} can be read")

    def _prefixes(self, deadline: Deadline) -> Verdict:
        active = {tenant.name for tenant in self.registry.tenants() if tenant.enabled}
        unknown = []
        for prefix in islice(names_under(self.documents, ""), MAX_PREFIXES):
            deadline.timeout_s(STEP_S, stage="prefixes")
            if prefix not in {*active, ADMITTED}:
                unknown.append(prefix)
        return prefix_verdict(unknown)

    def _permissions(self, deadline: Deadline) -> Verdict:
        """Whether the rules of access in force, and tags that name groups, could be read: what cannot be read denies.

        Of each vault whose documents say who may read them the first 10,000 are looked at.
        """
        broken: dict[str, list[str]] = {}
        for tenant in self.registry.tenants():
            for vault, stored in tenant.settings.items():
                broken[f"{tenant.name}/{vault}"] = read_rules(stored.values.get("access"))[1]
            for vault in tenant.restricted:
                deadline.timeout_s(STEP_S, stage="permissions")
                pages = islice(head_pages(self.registry, tenant.name, vault=vault, size=PAGE), MAX_PAGES)
                bad = sum(any(tag.startswith(NOBODY) for tag in head.tags) for heads in pages for head in heads)
                if bad:
                    broken.setdefault(f"{tenant.name}/{vault}", []).append(f"tags of {bad} documents")
        return rules_verdict({name: problems for name, problems in broken.items() if problems})

    def _version(self, deadline: Deadline) -> Verdict:
        host = urlsplit(self.index_url).hostname or ""
        if host.endswith(SERVERLESS):
            fix = "use an OpenSearch domain, or a cluster of your own, 2.19 or 3.x"
            return Verdict("failed", "OpenSearch Serverless takes no ids of ours and no refresh", fix)
        self.index.check(deadline)
        for tenant in (each for each in self.registry.tenants() if each.enabled and each.documents):
            deadline.timeout_s(STEP_S, stage="index")
            faults = faults_of(self.index, self.registry, tenant, deadline)
            if faults.found:
                fix = f"ragdrop sweep --tenant {tenant.name} rebuilds it now, the schedule within ten minutes"
                return Verdict("failed", f"{tenant.name}: {'; '.join(faults.found)}", fix)
        return Verdict("ok", "it can be searched, its version is supported, and its durable copies are there")

    def _dimensions(self, deadline: Deadline) -> Verdict:
        """Whether what the environment says is what the tenants' indexes were made with."""
        deadline.timeout_s(STEP_S, stage="dimension")
        others = [
            f"{tenant.name} ({tenant.active.space.model}, {tenant.active.space.dimension})"
            for tenant in self.registry.tenants()
            if tenant.active.space != self.space
        ]
        if others:
            detail = f"made with another model than EMBEDDING_MODEL: {', '.join(others[:5])}"
            return Verdict("warning", detail, "ragdrop reindex moves them; until then that model must answer too")
        return Verdict("ok", f"every index was made with {self.space.model}, {self.space.dimension} dimensions")

    def _embeddings(self, deadline: Deadline) -> Verdict:
        vectors, took_ms = [], []
        self.embedder.query("warm", self.space, deadline)  # a connection, a model that is loaded
        for text in SAMPLES:
            start_s = self.stopwatch()
            vectors.append(self.embedder.query(text, self.space, deadline))
            took_ms.append((self.stopwatch() - start_s) * 1_000)
        norms = [math.sqrt(sum(value * value for value in vector)) for vector in vectors]
        return embedding_verdict(len(vectors[0]), norms, took_ms, self.space.dimension)

    def _chat(self, deadline: Deadline) -> Verdict:
        listed = self.chat_models.models(deadline)
        if listed is None:
            return Verdict("ok", "it answers, and does not say which models it has")
        have = listed | {name.removesuffix(":latest") for name in listed}
        missing = [name for name in self.models if name not in have]
        if missing:
            fix = "install it there, or set CHAT_MODELS to one that it lists"
            grade = "failed" if len(missing) == len(self.models) else "warning"
            return Verdict("failed" if grade == "failed" else "warning", f"no model {', '.join(missing)}", fix)
        return Verdict("ok", f"{', '.join(self.models)} are there")

    def _called(self, chat: ChatModel, deadline: Deadline, reason: str) -> Verdict:
        """Ask each chat model once; whether one did not answer for *reason*."""
        found = []
        for name in self.models:
            try:
                chat.complete([Message("user", SAMPLES[0])], max_tokens=FEW_TOKENS, deadline=deadline, model=name)
            except GenerationError as exc:
                if exc.details.get("reason") not in {reason, *SAYS_NOTHING}:
                    raise
                found += [name] if exc.details.get("reason") == reason else []
        done = "throttled" if reason == THROTTLED else "withheld by a guardrail"
        if not found:
            return Verdict("ok", f"{len(self.models)} chat models were asked, none was {done}")
        return Verdict("failed", f"{done}: {', '.join(found)}", FIXES["quota" if reason == THROTTLED else "guardrail"])


FIXES = {
    "registry": "is REGISTRY_TABLE right, and do these credentials let one read it?",
    "buckets": "are DOCUMENT_BUCKET and STATE_BUCKET right? s3:ListBucket and s3:GetObject are needed",
    "wiring": "is QUEUE_URL right? s3:GetBucketNotification, s3:GetBucketVersioning, sqs:GetQueueAttributes are needed",
    "prefixes": "s3:ListBucketVersions on the document bucket is needed",
    "permissions": "correct `access` in the vault's .ragdrop.json, or tag ragdrop-access; the function needs "
    "s3:GetObjectVersionTagging; then ragdrop retry; docs/access.md has the rules",
    "index": "is INDEX_URL right, is it up? OpenSearch 2.19 or 3.x with the k-NN plugin is needed",
    "dimension": "is REGISTRY_TABLE right?",
    "embeddings": "is EMBEDDING_URL right, is it up, and has it EMBEDDING_MODEL with EMBEDDING_DIMENSION?",
    "chat": "is CHAT_URL right, is it up, is CHAT_API_KEY right?",
    "region": "set bedrock:REGION with a region that has it, or name an inference profile; if the catalogue could not "
    "be read: bedrock:GetFoundationModelAvailability and bedrock:GetInferenceProfile are needed",
    "access": "open the model once in Amazon Bedrock's console (Model catalog), as one who may subscribe to it",
    "quota": "ask AWS for more (Service Quotas, Amazon Bedrock), or name a cross-region inference profile of the model",
    "guardrail": "change its filters (Bedrock, Guardrails), or exempt the functions' roles from the enforced guardrail",
}
"""What to do where a step raised, by its name."""


def of_error(name: str, error: RagdropError) -> Verdict:
    """The verdict of a step that raised."""
    fix = error.details.get("install") or FIXES.get(name, "look at the service that is named")
    return Verdict("failed", error.message, str(fix))
