"""What a chunk index costs a month, by kind, size and questions: the second table of docs/cost.md."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil

from bucketindex.durable_copies import PERIOD_S
from bucketindex.shards import FAN_OUT_CHUNKS
from pages.cost import DAYS
from ragdrop.operate.costs import DYNAMO_READ, GP3_GB, LAMBDA_CALL, LAMBDA_GB_S, S3_GB, S3_GET, S3_PUT
from ragdrop.ports.indexes import SMALL_BYTES
from ragdrop_cli.costs import HOURS

SIZES, ASKED = (1_000, 100_000, 1_000_000, 10_000_000, 100_000_000), (0, 1_000, 100_000)  # chunks; questions a day

# The bucket index: bytes as benchmarks/bucket_index.py measures them at 384 dimensions, rounded up.
BYTES_A_CHUNK, CORE_BYTES, TEXT_BYTES = 2_100, 700, 1_300  # in all; copied; of texts, read by range
RETIRED = 1.5  # with segments that were merged lately
SEGMENTS, SEGMENT_CHUNKS = 7, 200_000  # of an index that rests, and the most chunks of one
PIECE_BYTES, BLOCK_BYTES = 8 << 20, 1 << 16  # of a request
GB, READ_MB_S = 1.0, 75.0  # memory of a function, and how fast it reads the bucket
LISTINGS, HOUR_S = 7, 3_600  # of the segments in an hour, by the check and the sweep; a listing costs as a PUT
SEARCH_S, SEARCH_S_A_CHUNK = 0.010, 0.09e-6  # of a search: three times the CPU measured, or more
BLOCKS_A_SEARCH = 60  # at most: one for each hit
ENVIRONMENT_H, BUSY_S, PEAK = 2.0, 0.5, 5.0  # life of an environment, a whole search, the busiest hour over the mean
MANIFEST_UNITS = 2  # of the registry table, a strongly consistent read
ROUNDS, COPIES = 2, 2  # of a search by shards; shards that an environment comes to hold

# OpenSearch: nodes, an hour each, GB each; t3.small.search and m6g.large.search.
SMALL, LARGE = (1, 0.036, 10), (1, 0.128, 20)
SMALL_QUESTIONS = 20_000  # a day that a t3.small's CPU credits bear, at some 50 ms of a core each
LARGE_QUESTIONS = 690_000  # that the two cores of an m6g.large bear in the busiest hour
R6G_LARGE, R6G_GB = 0.167, 8.0  # an hour, and the memory for vectors: half of its 16 GB; larger ones cost in proportion
VECTOR_BYTES, DISK_BYTES, DISK_FULL = 1_700, 7_000, 0.75  # of a chunk of 384 dimensions in memory, on the disk; full at

# Beside them, by list price: https://aws.amazon.com/s3/pricing (read 2026-09-20), and OpenSearch Serverless.
S3_VECTORS_GB, S3_VECTORS_QUERY = 0.06, 2.50 / 1e6
S3_VECTORS_BYTES = 384 * 4 + 100 + TEXT_BYTES  # of a chunk: its vector, key and text as metadata
OCU, AWAKE_OCU, IDLE_QUESTIONS = 0.24, 2, 144  # an hour; search workers at least; a question in ten minutes keeps awake


def environments(questions: int) -> float:
    """Environments that begin in a day.

    >>> environments(0), environments(1), environments(1_000), environments(100_000)
    (0, 1, 12.0, 36.0)
    """
    at_once = max(1, ceil(questions / 86_400 * BUSY_S * PEAK))
    return min(questions, at_once * 24 / ENVIRONMENT_H)


def bucket_month(chunks: int, questions: int) -> dict[str, float]:
    """USD a month for the bucket index alone, by what is paid.

    Every ten minutes the prefix is listed; every hour, of a large index every 40 minutes, all bytes are read.

    >>> {name: round(usd, 3) for name, usd in bucket_month(100_000, 0).items()}
    {'storage': 0.007, 'hourly check': 0.091, 'searches': 0.0, 'copies': 0.0}
    """
    segments = max(SEGMENTS, ceil(chunks / SEGMENT_CHUNKS))
    size = chunks * BYTES_A_CHUNK
    passes = 1 if size <= SMALL_BYTES else HOUR_S / PERIOD_S
    reading = (segments + size / PIECE_BYTES) * S3_GET + size / 1e6 / READ_MB_S * GB * LAMBDA_GB_S
    check = LISTINGS * S3_PUT + passes * reading
    begun, asked = environments(questions) * DAYS, questions * DAYS
    shards = ceil(chunks / FAN_OUT_CHUNKS)
    calls, begun = (ROUNDS * shards, begun * COPIES) if shards > 1 else (1, begun)
    core = chunks * CORE_BYTES
    blocks = min(asked * BLOCKS_A_SEARCH, begun * (chunks * TEXT_BYTES / BLOCK_BYTES))
    return {
        "storage": chunks * BYTES_A_CHUNK * RETIRED / 1e9 * S3_GB,
        "hourly check": HOURS * check,
        "searches": asked
        * (
            (calls * SEARCH_S + chunks * SEARCH_S_A_CHUNK) * GB * LAMBDA_GB_S
            + (calls if shards > 1 else 0) * LAMBDA_CALL
            + MANIFEST_UNITS * DYNAMO_READ
        ),
        "copies": begun * ((segments + core / PIECE_BYTES) * S3_GET + core / 1e6 / READ_MB_S * GB * LAMBDA_GB_S)
        + blocks * S3_GET,
    }


def opensearch_month(chunks: int, questions: int) -> float:
    """USD a month for the smallest single node that bears up to LARGE_QUESTIONS, and for the bucket index behind it.

    >>> round(opensearch_month(1_000, 0), 2), round(opensearch_month(1_000_000, 0), 2)
    (27.53, 96.6)
    """
    is_small = chunks <= SIZES[1] and questions <= SMALL_QUESTIONS
    nodes, rate, disk_gb = SMALL if is_small else LARGE
    if chunks > SIZES[2]:
        rate = ceil(chunks * VECTOR_BYTES / 1e9 / R6G_GB) * R6G_LARGE
        nodes, disk_gb = 1, ceil(chunks * DISK_BYTES / 1e9 / DISK_FULL)
    return nodes * (rate * HOURS + disk_gb * GP3_GB) + sum(bucket_month(chunks, 0).values())


def s3_vectors_month(chunks: int, questions: int) -> float:
    """USD a month of S3 Vectors for storage and requests; what its queries process is charged too, and not known here.

    >>> round(s3_vectors_month(1_000_000, 1_000), 2)
    0.25
    """
    return chunks * S3_VECTORS_BYTES / 1e9 * S3_VECTORS_GB + questions * DAYS * S3_VECTORS_QUERY


def serverless_month(chunks: int, questions: int) -> float:
    """USD a month of OpenSearch Serverless at its least: two search workers while it is awake, and storage.

    >>> round(serverless_month(1_000, 0)), round(serverless_month(1_000, 1_000))
    (0, 350)
    """
    awake_h = HOURS if questions >= IDLE_QUESTIONS else questions * DAYS / 6
    return awake_h * AWAKE_OCU * OCU + chunks * DISK_BYTES / 1e9 * S3_GB


def others_table() -> str:
    """A row a size and number of questions: what other indexes cost at least."""
    lines = [
        "| chunks | questions a day | S3 Vectors, at least | OpenSearch Serverless, at least |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {size:,} | {asked:,} | {s3_vectors_month(size, asked):,.2f} | {serverless_month(size, asked):,.2f} |"
        for size in SIZES
        for asked in ASKED
    ]
    return "\n".join(lines)


def even_at() -> int:
    """From how many chunks on OpenSearch is cheaper where a large node is busy all day, to 50,000.

    >>> bucket = sum(bucket_month(even_at(), LARGE_QUESTIONS).values())
    >>> bucket >= opensearch_month(even_at(), LARGE_QUESTIONS)
    True
    """
    return next(
        chunks
        for chunks in range(50_000, 10_000_000, 50_000)
        if sum(bucket_month(chunks, LARGE_QUESTIONS).values()) >= opensearch_month(chunks, LARGE_QUESTIONS)
    )


def table() -> str:
    """A row a size and number of questions, then where both cost the same."""
    lines = ["| chunks | questions a day | bucket index, USD a month | OpenSearch, USD a month |", "|---|---|---|---|"]
    lines += [
        f"| {size:,} | {asked:,} | {_usd(bucket_month(size, asked))} | {opensearch_month(size, asked):,.2f} |"
        for size in SIZES
        for asked in ASKED
    ]
    busy = " / ".join(_usd(bucket_month(size, LARGE_QUESTIONS)) for size in SIZES[:3])
    sizes = " / ".join(f"{size:,}" for size in SIZES[:3])
    said = (
        f"An m6g.large.search that is busy all day answers about {LARGE_QUESTIONS:,} questions for "
        f"{opensearch_month(SIZES[0], LARGE_QUESTIONS):,.0f} USD a month. As many cost the bucket index {busy} USD at "
        f"{sizes} chunks. At that rate OpenSearch is cheaper from about {even_at():,} chunks on."
    )
    return "\n".join([*lines, "", said])


def _usd(parts: Mapping[str, float]) -> str:
    return f"{sum(parts.values()):,.2f}"
