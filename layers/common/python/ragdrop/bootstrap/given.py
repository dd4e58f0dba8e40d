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
from ragdrop.ports.indexes import ManifestStore
from ragdrop.ports.message_queue import WiringProbe
from ragdrop.ports.model_services import ClaimVerifier, ModelList, Reranker
from ragdrop.ports.registry import HopLimits, RequestCounts, TokenVerifier
from ragdrop.ports.shared_state import BreakerStore, Receipts, StoredReplies, VisitedCache
from ragdrop.ports.telemetry import Metrics, Telemetry, Tracer

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
    kept_replies: StoredReplies
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
