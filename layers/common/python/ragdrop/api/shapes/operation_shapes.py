"""What the routes of operations reply: health, queue, figures, vaults, golden questions, credentials."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from ragdrop.api.shapes.fields import InVault, LatencyMsOrNull, Question, Replied
from ragdrop.domain.deadlines import rfc3339
from ragdrop.domain.golden import GoldenRun
from ragdrop.domain.tenants import Engine, Role
from ragdrop.operate.costs import Basis, CostLine
from ragdrop.operate.stats import TenantStats, TimeRange


class CanaryShape(InVault):
    """The golden questions of a vault, as they were asked last."""

    questions: int = Field(description="Golden questions that were asked; 0 before the first run.")
    answered: int = Field(description="Golden questions that are answered.")
    dropped: list[str] = Field(description="Golden questions that are not answered and once were.")
    measured_at: str | None = Field(description="When all of them could be asked last.")
    not_measured: str | None = Field(description="The code of what prevented the last run from asking all, else null.")


class OutcomeShape(BaseModel):
    """A golden question of a run, shortened to 200 characters."""

    question: Question
    expected: str = Field(description="The document or the text that it expects.")
    answered: bool | None = Field(description="Whether it is answered; null while it could not be asked.")
    dropped: bool = Field(description="Whether it is not answered and once was.")


class RunShape(CanaryShape):
    """A run of a vault's golden questions."""

    outcomes: list[OutcomeShape] = Field(description="Each golden question.")


class RunResponse(RunShape, Replied):
    """The run that was asked for."""


class CanariesResponse(Replied):
    """The last run of each vault that has golden questions."""

    canaries: list[RunShape] = Field(description="Golden questions by vault, as they were asked last.")


def run_fields(run: GoldenRun) -> dict[str, Any]:
    """A run of golden questions by the names of the API."""
    return {
        "vault": run.vault,
        "questions": len(run.outcomes),
        "answered": run.answered,
        "dropped": [each.question for each in run.dropped],
        "measured_at": None if run.measured_at_s is None else rfc3339(run.measured_at_s),
        "not_measured": run.not_measured,
        "outcomes": [asdict(each) for each in run.outcomes],
    }


class DependencyShape(BaseModel):
    """One dependency; `absent` is one not made yet, `unknown` one of which nothing can be said."""

    status: Literal["healthy", "degraded", "unavailable", "absent", "unknown"] = Field(
        description="`healthy`, `degraded`, `unavailable`, `absent` (not made yet) or `unknown`."
    )
    latency_ms: LatencyMsOrNull
    circuit_breaker_open: bool = Field(description="Whether a service is left alone for a while after failures.")
    detail: str | None = Field(description="What is wrong, in words; null where nothing is.")


class ServiceHealth(BaseModel):
    """How the service is."""

    healthy: bool = Field(description="Whether everything is well.")
    status: Literal["healthy", "degraded", "unavailable"] = Field(
        description="`unavailable` (503) only where no level of the fallback chain can answer."
    )
    version: str = Field(description="The version of ragdrop.")
    dependencies: dict[str, DependencyShape] = Field(
        default_factory=dict, description="`index`, `embedding`, `chat`, `registry`, `object_store`."
    )
    indexed_documents: int | None = Field(default=None, description="Live documents of the tenant.")
    latency_ms: LatencyMsOrNull = None


class HealthShape(ServiceHealth, Replied):
    """How the service is; without a key `healthy`, `status` and `version` alone."""

    canaries: list[CanaryShape] = Field(
        default_factory=list, description="Of vaults with golden questions: how they were answered last."
    )


class QueueShape(Replied):
    """About how many messages of all tenants wait for ingest; `dead_letters` were given up on."""

    waiting: int = Field(description="Messages that wait.")
    in_flight: int = Field(description="Messages that are being worked on.")
    delayed: int = Field(description="Messages that wait for their time.")
    dead_letters: int | None = Field(description="Messages that were given up on; null without a dead-letter queue.")


class RedriveShape(Replied):
    """How many dead letters went back into the queue; 0 when none is left."""

    moved: int = Field(description="Messages that went back into the queue.")


class TokensShape(BaseModel):
    """Tokens that models read and wrote, as they counted them; null if no chat model reported usage."""

    prompt: int | None = Field(description="Tokens read; null if no model reported usage.")
    completion: int | None = Field(description="Tokens written; null if no model reported usage.")
    total: int | None = Field(description="Both together.")
    embedding: int = Field(default=0, description="Tokens that the embedding model read for questions.")


class ErrorShape(BaseModel):
    """How often something failed: which component, in which operation, with which code, at which stage."""

    component: str = Field(description="What failed.")
    operation: str = Field(description="In what.")
    code: str = Field(description="The stable code.")
    stage: str = Field(description="The pipeline step at which it failed.")
    count: int = Field(description="How often.")


class HourShape(BaseModel):
    """One hour."""

    hour: str = Field(description="YYYY-MM-DDTHH, UTC.")
    queries: int = Field(description="Questions and searches.")
    failed: int = Field(description="Those that failed.")
    fallbacks: int = Field(description="Those at level 2 or worse.")
    abstained: int = Field(description="Questions without an answer in the documents.")
    tokens: int = Field(description="Tokens of questions and answers, as far as endpoints counted.")
    cost: float | None = Field(description="By the price table of the deployment; null where the model has no price.")
    p50_latency_ms: float | None = Field(description="Milliseconds that half of them stayed under.")
    p95_latency_ms: float | None = Field(description="Milliseconds that 95 % of them stayed under.")


class CostLineShape(BaseModel):
    """One thing that is paid."""

    name: str = Field(description="Its name.")
    count: int | None = Field(description="How often.")
    usd: float | None = Field(description="Null without a price; `chat tokens` are in the currency of CHAT_PRICES.")
    basis: Basis = Field(description="Of the count: exact, an estimate, or the first 20,000 changes alone.")


class TenantFigures(BaseModel):
    """Figures of a tenant; rates are shares of `total_queries` in [0, 1], null where nothing was asked."""

    time_range: TimeRange = Field(description="The time that was counted.")
    total_documents: int | None = Field(description="Live documents.")
    total_chunks: int | None = Field(description="Their chunks.")
    total_queries: int = Field(description="Questions and searches.")
    avg_latency_ms: float | None = Field(description="Milliseconds on average.")
    p50_latency_ms: float | None = Field(description="Interpolated within fixed buckets: off by under 28 %.")
    p95_latency_ms: float | None = Field(description="Milliseconds that 95 % of them stayed under.")
    p99_latency_ms: float | None = Field(description="Milliseconds that 99 % of them stayed under.")
    cache_hit_rate: float | None = Field(description="Share answered from memory.")
    fallback_rate: float | None = Field(description="Share answered at level 2 or worse.")
    abstention_rate: float | None = Field(description="Share that the documents did not answer.")
    error_rate: float | None = Field(description="Queries that failed, but those that the caller could fix.")
    queries_by_agent: dict[str, int] = Field(description="The twenty that asked most; `other` are all others.")
    errors_by_code: dict[str, int] = Field(description="Errors reported, those that the caller could fix too.")
    tokens: TokensShape = Field(description="Tokens of models.")
    reader_pairs: int = Field(default=0, description="Pairs of texts that the reader, or a reranker, read.")
    reader_ms: int = Field(default=0, description="Milliseconds that this took.")
    cost: float | None = Field(description="In the currency of CHAT_PRICES; null without a price.")


class StatsShape(TenantFigures, Replied):
    """Figures of a tenant; rates are shares of `total_queries` in [0, 1], null where nothing was asked."""

    canaries: list[CanaryShape] = Field(
        default_factory=list, description="Of vaults with golden questions: how they were answered last."
    )
    costs: list[CostLineShape] = Field(default_factory=list, description="With `cost=1`: see docs/cost.md.")
    errors: list[ErrorShape] = Field(default_factory=list, description="With `detail=1`.")
    hours: list[HourShape] = Field(default_factory=list, description="With `detail=1`: hours with a query.")


def stats_shape(
    found: TenantStats,
    request_id: str,
    time_range: TimeRange,
    *,
    detail: bool = False,
    costs: Sequence[CostLine] | None = None,
) -> StatsShape:
    """The figures of a tenant; with *detail* its errors and hours, with *costs* what they cost."""
    queries = found.queries
    tokens = (queries.prompt_tokens, queries.completion_tokens)
    more: dict[str, Any] = {}
    if detail:
        more = {"errors": [asdict(each) for each in queries.errors], "hours": [asdict(each) for each in queries.hours]}
    if found.golden_runs:
        more["canaries"] = [CanaryShape(**run_fields(run)) for run in found.golden_runs]
    if costs is not None:
        more["costs"] = [asdict(each) for each in costs]
    same = {name: getattr(queries, name) for name in TenantFigures.model_fields if hasattr(queries, name)}
    return StatsShape(
        **same,
        request_id=request_id,
        time_range=time_range,
        total_documents=found.documents,
        total_chunks=found.chunks,
        tokens=TokensShape(
            prompt=tokens[0],
            completion=tokens[1],
            total=None if None in tokens else sum(each or 0 for each in tokens),
            embedding=queries.embedding_tokens,
        ),
        **more,
    )


class VaultShape(BaseModel):
    """A vault and what it holds."""

    name: str = Field(description="Its name.")
    knowledge_base_id: str = Field(description="The id by which clients of Bedrock's knowledge bases name it.")
    documents: dict[str, int] = Field(description="Documents by `status`, without the deleted.")
    chunks: int | None = Field(description="Chunks of its live documents; null while that is not known.")
    last_change: str | None = Field(description="When one of its documents changed last, RFC 3339.")
    complete: bool = Field(description="False for a vault of over 10,000 documents: then only those are counted.")


class VaultList(Replied):
    """A page of vaults by name."""

    vaults: list[VaultShape] = Field(description="In the order of their names.")
    cursor: str | None = Field(description="Give it back for the next page; null at the end.")


class MeShape(Replied):
    """What a credential opens."""

    version: str = Field(description="Of ragdrop.")
    tenant: str = Field(description="The tenant of the credential.")
    role: Role = Field(description="reader, writer, admin or delegate.")
    groups: list[str] = Field(description="Its groups, by which rules of access let it read documents.")
    credential: str = Field(description="The id of the key, or the subject of the token; never the secret.")
    vaults: list[str] = Field(description="The vaults that it may see and that hold documents.")
    limited_to_vaults: bool = Field(description="Whether it is limited to some vaults.")
    doc_types: list[str] = Field(description="Types of the tenant's documents.")
    models: list[str] = Field(description="Chat models that `model` of `/ask` may name; the first is the default.")
    index: Engine = Field(description="The chunk index that answers: `bucket` or `opensearch`.")
    max_put_bytes: int = Field(description="The largest body of `PUT /documents`.")
    max_upload_bytes: int = Field(description="The largest file of `POST /uploads`.")


class NearServerShape(BaseModel):
    """A server of chat models on the machine that the stack runs on."""

    name: str = Field(description="`Ollama`, `LM Studio` or `llama.cpp`.")
    url: str = Field(description="What `CHAT_URL` takes.")
    models: list[str] = Field(description="What `CHAT_MODELS` takes.")


class NearServers(Replied):
    """Servers of chat models on the machine that the stack runs on."""

    servers: list[NearServerShape] = Field(description="Those that answered with models.")


class ModelTest(BaseModel):
    """A chat model to ask for one word.  The key is used once, and is neither stored nor logged."""

    model_config = ConfigDict(extra="forbid")

    url: str = Field(pattern=r"^https?://[^\s@]+$", max_length=300, description="Up to and with `/v1`.")
    model: str = Field(min_length=1, max_length=200, description="Its id there.")
    api_key: SecretStr | None = Field(default=None, description="The key of the endpoint, where it needs one.")


class ModelTested(Replied):
    """Whether the model answered."""

    works: bool = Field(description="Whether it answered.")
    problem: str | None = Field(description="Why it did not; null where it did. Never the key.")
    latency_ms: float = Field(description="How long it took.")


class SignInLink(Replied):
    """A code that opens the page once: `…/app#/sign-in/CODE`."""

    code: str = Field(description="Works once.")
    expires_at: str = Field(description="RFC 3339.")


class SignInRequest(BaseModel):
    """A code of `POST /app/links`."""

    model_config = ConfigDict(extra="forbid", strict=True)

    code: str = Field(min_length=1, max_length=100, description="As `POST /app/links` gave it.")


class SignedIn(Replied):
    """The credential that the code was made with."""

    key: str = Field(description="The credential itself.")
