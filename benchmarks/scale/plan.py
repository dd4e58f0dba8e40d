"""How much of AWS a stated workload needs, from the measured costs of a chunk and a query and AWS's own rules."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pages.cost import DAYS, EMBED_TOKEN, HOURS, INDEX, INGEST, QUESTION_TOKENS, SEARCH
from ragdrop.operate.unit_costs import (
    DYNAMO_GB,
    DYNAMO_READ,
    DYNAMO_WRITE,
    GATEWAY_CALL,
    GP3_GB,
    LAMBDA_CALL,
    LAMBDA_GB_S,
    LOG_GB,
    S3_GB,
    S3_GET,
    S3_PUT,
    SQS_CALL,
)

GIB = 2**30
M = 16  # of HNSW, ragdrop_opensearch/mapping.py
SHARD_GIB = 25  # of the 10 to 30 that AWS gives for search
OVERHEAD = 1.45  # of the disk: AWS's simplified rule for merges, the system and the service
BUSY = 0.5  # of the processors at the planned rate: half is room for peaks, merges and a lost zone
LAMBDA_MB_A_CORE = 1_769
R6G_LARGE_USD = INDEX["multi-az"][1]  # an hour; the larger ones of a family cost in proportion
R6G = {"large": 1, "xlarge": 2, "2xlarge": 4, "4xlarge": 8, "8xlarge": 16, "12xlarge": 24}  # x 2 vCPU and 16 GiB
USES_WRITTEN_A_SECOND = 0.4  # uses of documents: an environment writes them for 20 ms every ten seconds
MANAGER_USD = 0.128  # m6g.large.search, docs/cost.md
ZONES = 3


@dataclass(frozen=True)
class Workload:
    """What is asked of the service.

    Args:
        chunks: In all, of all tenants.
        queries: Searches a second at the planned peak.
        mean_share: What the mean of a month is of the peak.
        tenants: That share them evenly.
        document_chunks: Chunks of a document.
        changed_a_day: Share of the documents that is new or changed in a day.
        dimension: Of the vectors.
        replicas: Copies beside the first.
    """

    chunks: int = 100_000_000
    queries: int = 1_000
    mean_share: float = 0.3
    tenants: int = 400
    document_chunks: int = 10
    changed_a_day: float = 0.01
    dimension: int = 384
    replicas: int = 1

    @property
    def documents(self) -> int:
        """In all."""
        return self.chunks // self.document_chunks

    @property
    def changes_a_second(self) -> float:
        """Documents, spread over the day."""
        return self.documents * self.changed_a_day / 86_400


@dataclass(frozen=True)
class Units:
    """What one chunk and one query cost, as measured.

    Args:
        bytes_a_chunk: On one copy of the index.
        index_cpu_ms: Processor time of the data nodes a search.
        own_cpu_ms: Processor time of the function a search, on a core of its own.
        read_units: Of the registry's table, what a search asks for.
        written_a_second: Chunks that one node took.
        waiting_ms: What a search waits for the embedding service and the registry; assumed, not measured.
        memory_mb: Of the function.
        write_units: Of the tables, what a search writes before its answer leaves.
    """

    bytes_a_chunk: float
    index_cpu_ms: float
    own_cpu_ms: float
    read_units: float
    written_a_second: float
    waiting_ms: float = 50.0
    memory_mb: int = 1_024
    write_units: float = SEARCH["writes"]

    @property
    def function_factor(self) -> float:
        """How much longer the function's own work takes than on a whole core, which 1,769 MB have."""
        return max(LAMBDA_MB_A_CORE / self.memory_mb, 1.0)

    @property
    def function_ms(self) -> float:
        """How long a search holds an execution environment."""
        return self.own_cpu_ms * self.function_factor + self.waiting_ms + self.index_cpu_ms


def graph_gib(vectors: int, dimension: int, *, m: int = M) -> float:
    """Memory of an HNSW graph with its float32 vectors, GiB, of one copy.

    References:
        "k-NN memory estimation": 1.1 x (4 x dimension + 8 x m) bytes a vector.

    >>> round(graph_gib(1_000_000, 256), 2)
    1.18
    """
    return 1.1 * (4 * dimension + 8 * m) * vectors / GIB


def cache_gib(memory_gib: int) -> float:
    """What of a node's memory may hold graphs: half goes to the heap, at most 32 GiB, and half of the rest is counted.

    >>> cache_gib(16), cache_gib(128)
    (4.0, 48.0)
    """
    return (memory_gib - min(memory_gib / 2, 32)) / 2


@dataclass(frozen=True)
class Cluster:
    """Data nodes of one kind."""

    instance: str
    nodes: int
    vcpus: int
    memory_gib: int
    node_usd: float
    disk_gib: int

    @property
    def usd(self) -> float:
        """A month, disks and three managers too."""
        managers = ZONES * MANAGER_USD * HOURS
        return self.nodes * (self.node_usd * HOURS + self.disk_gib * GP3_GB) + managers

    @property
    def cores(self) -> int:
        """Of all nodes."""
        return self.nodes * self.vcpus


@dataclass(frozen=True)
class Plan:
    """What is needed."""

    graph_gib: float
    stored_gib: float
    shards: int
    busy_cores: float
    cluster: Cluster
    environments: int
    reads_a_second: float
    ingest_batches: int


def plan(work: Workload, units: Units, *, batch: int, batch_ms: float) -> Plan:
    """The smallest bill that holds the graphs in memory and does the peak with half of the processors.

    Args:
        work: What is asked.
        units: What one of each costs.
        batch: Documents of one invocation of ingest.
        batch_ms: What it takes.
    """
    copies = 1 + work.replicas
    graphs = graph_gib(work.chunks, work.dimension) * copies
    stored = units.bytes_a_chunk * work.chunks / GIB
    cores = work.queries * units.index_cpu_ms / 1_000
    shards = math.ceil(stored / SHARD_GIB / ZONES) * ZONES
    sizes = [_cluster(name, graphs, stored * copies, cores / BUSY) for name in R6G]
    clusters = [each for each in sizes if each.nodes <= shards * copies] or sizes[-1:]  # or some would hold no shard
    batches = work.changes_a_second / batch * batch_ms / 1_000
    return Plan(
        graphs,
        stored,
        shards,
        cores,
        min(clusters, key=lambda each: (round(each.usd, -3), -each.nodes)),  # of two alike the one of more nodes
        math.ceil(work.queries * units.function_ms / 1_000),
        work.queries * units.read_units,
        math.ceil(batches / BUSY),
    )


def _cluster(name: str, graphs_gib: float, stored_gib: float, cores: float) -> Cluster:
    vcpus, memory = 2 * R6G[name], 16 * R6G[name]
    needed = max(graphs_gib / cache_gib(memory), cores / vcpus, ZONES)
    nodes = math.ceil(needed / ZONES) * ZONES
    disk = math.ceil(stored_gib * OVERHEAD / nodes / 10) * 10
    return Cluster(f"r6g.{name}.search", nodes, vcpus, memory, R6G_LARGE_USD * R6G[name], disk)


def month(work: Workload, units: Units, made: Plan, *, share: float) -> dict[str, float]:
    """USD a month by what is paid, with so large a share of the peak on average; prices of docs/cost.md."""
    searches = work.queries * share * 86_400 * DAYS
    changes = work.changes_a_second * 86_400 * DAYS
    tokens = 400 * work.document_chunks
    reads = searches * units.read_units + changes * INGEST["reads"]
    busy = work.queries * share * units.function_ms / 1_000  # environments
    writes = searches * units.write_units + changes * INGEST["writes"] + busy * USES_WRITTEN_A_SECOND * 86_400 * DAYS
    gb_s = searches * units.function_ms / 1_000 * units.memory_mb / 1_024 + changes * INGEST["gb_s"]
    return {
        "index": made.cluster.usd,
        "functions": gb_s * LAMBDA_GB_S + (searches + changes) * LAMBDA_CALL,
        "gateway": searches * GATEWAY_CALL,
        "tables": reads * DYNAMO_READ + writes * DYNAMO_WRITE + work.documents * 4e-6 * DYNAMO_GB,
        "buckets, queue, logs": changes
        * (INGEST["puts"] * S3_PUT + INGEST["gets"] * S3_GET + INGEST["calls"] * SQS_CALL)
        + work.chunks * 400 * 16e-9 * S3_GB
        + (searches * SEARCH["log_kb"] + changes * INGEST["log_kb"]) / 1e6 * LOG_GB,
        "embedding": (searches * QUESTION_TOKENS + changes * tokens) * EMBED_TOKEN,
    }
