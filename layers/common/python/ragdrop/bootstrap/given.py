"""The names and types of what may stand in for an adapter."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from ragdrop.ingest.revision_store import RevisionStore
from ragdrop.ports import (
    ChatModel,
    ChunkIndex,
    Embedder,
    MessageQueue,
    ObjectStore,
    Parser,
    Prompter,
    Registry,
    Splitter,
)
from ragdrop.ports.breakers import BreakerStore
from ragdrop.ports.credentials import RequestCounts, TokenVerifier
from ragdrop.ports.kept_replies import KeptReplies
from ragdrop.ports.manifests import ManifestStore
from ragdrop.ports.metrics import Metrics, Tracer
from ragdrop.ports.models import ClaimVerifier, ModelList, Reranker
from ragdrop.ports.receipts import Receipts
from ragdrop.ports.registry import HopLimits
from ragdrop.ports.telemetry import Telemetry
from ragdrop.ports.visited import VisitedCache
from ragdrop.ports.wiring import WiringProbe

if TYPE_CHECKING:
    from bucketindex.index import BucketChunkIndex


class GivenPorts(TypedDict, total=False):
    """What `Ports.replace` takes: a port's name, and what keeps its Protocol."""

    documents: ObjectStore
    state: ObjectStore
    registry: Registry
    telemetry: Telemetry
    metrics: Metrics
    tracer: Tracer | None
    receipts: Receipts
    kept_replies: KeptReplies
    request_counts: RequestCounts
    tokens: TokenVerifier | None
    visited: VisitedCache
    queue: MessageQueue
    index: ChunkIndex
    bucket_index: BucketChunkIndex
    manifests: ManifestStore
    index_folder: Path
    embedder: Embedder
    embedding_models: ModelList
    chat: ChatModel
    chat_models: ModelList
    reranker: Reranker | None
    claim_verifier: ClaimVerifier | None
    prompter: Prompter
    breaker_store: BreakerStore
    parser: Parser
    splitter: Splitter
    wiring: WiringProbe
    revisions: RevisionStore
    hop_limits: HopLimits
