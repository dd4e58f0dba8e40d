"""What the same number of chunks costs in bucket indexes, one a tenant, in the place of an OpenSearch domain."""

from __future__ import annotations

import math
import random
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from itertools import accumulate
from typing import Any

from benchmarks.cost.usages import read
from benchmarks.scale.plan import Plan, Units, Workload, month
from pages.cost import DAYS, INGEST
from ragdrop.operate.unit_costs import LAMBDA_GB_S, S3_GB, S3_GET

TENANT_CHUNKS = 10_000
TMP_BYTES = 4_096 * 10**6 * 0.75  # of the function; a quarter is for blocks of texts
MERGED = 1.5  # segments that were merged stay an hour, and each byte is written more than once
DRAWN = 400_000  # searches of the simulation, the first half of which is not counted


@dataclass(frozen=True)
class Spread:
    """How the searches spread: the exponent of Zipf's law among tenants, and the deployments that share the tenants."""

    skew: float = 0.0
    deployments: int = 1


SPREADS = {
    "all tenants alike": Spread(),
    "by Zipf's law: the second asks half as much as the first": Spread(skew=1.0),
    "all alike, in 50 deployments": Spread(deployments=50),
}


@dataclass(frozen=True)
class FirstQuery:
    """What a search costs whose environment has nothing of the tenant: measured by benchmarks/bucket_index.py."""

    took_ms: float
    requests: int
    bytes_fetched: float

    @classmethod
    def of_record(cls, grids: list[dict[str, Any]], chunks: int) -> FirstQuery:
        """From the table of the benchmark that has such a column."""
        [grid] = [each for each in grids if "first query, ms" in each["columns"]]
        [row] = [dict(zip(grid["columns"], row, strict=True)) for row in grid["rows"] if _number(row[0]) == chunks]
        return cls(_number(row["first query, ms"]), int(_number(row["requests"])), _number(row["fetched, MB"]) * 1e6)


def _number(cell: str) -> float:
    return float(cell.replace(",", ""))


def at_hand(tenants: int, room: int, environments: int, skew: float, *, drawn: int = DRAWN, seed: int = 1) -> float:
    """The share of searches whose environment has the tenant's index, in [0, 1], after a warm-up.

    Each search goes to any of the *environments*; each of these holds *room* tenants, the one that was not asked for
    longest goes first.  The tenants' shares of the searches fall by Zipf's law with exponent *skew*.

    >>> at_hand(10, 10, 2, 0.0, drawn=2_000), at_hand(1_000, 1, 2, 0.0, drawn=2_000) < 0.01
    (1.0, True)
    """
    source = random.Random(seed)
    weights = list(accumulate(1 / rank**skew for rank in range(1, tenants + 1)))
    held: list[OrderedDict[int, None]] = [OrderedDict() for _ in range(environments)]
    found = counted = 0
    for number, tenant in enumerate(source.choices(range(tenants), cum_weights=weights, k=drawn)):
        here = held[source.randrange(environments)]
        known = tenant in here
        here[tenant] = None
        here.move_to_end(tenant)
        if len(here) > room:
            here.popitem(last=False)
        if number >= drawn // 2:
            counted += 1
            found += known
    return found / counted


def bucket_plan(work: Workload, units: Units, first: FirstQuery, made: Plan) -> dict[str, Any]:
    """USD a month at the mean of the workload, and how much is at hand, for each way in which tenants ask.

    Args:
        work: As of the plan; its tenants are as many as the chunks make.
        units: Of a search over a bucket index: its index takes no processor of its own.
        first: What a search costs that has nothing at hand.
        made: The plan with OpenSearch, which says what all else costs.
    """
    tenants = work.chunks // TENANT_CHUNKS
    room = int(TMP_BYTES // first.bytes_fetched)
    searches = work.queries * work.mean_share * 86_400 * DAYS
    changes = work.changes_a_second * 86_400 * DAYS
    ways = {}
    for name, spread in SPREADS.items():
        environments, share = _settled(work, units, first, tenants, room, spread)
        missed = searches * (1 - share)
        usd = month(work, units, made, share=work.mean_share) | {"index": 0.0}
        usd["functions"] += missed * first.took_ms / 1_000 * units.memory_mb / 1_024 * LAMBDA_GB_S
        usd["buckets, queue, logs"] += (
            missed * first.requests * S3_GET
            + work.chunks * units.bytes_a_chunk * MERGED / 1e9 * S3_GB
            + changes * INGEST["gets"] * S3_GET  # of merges, as many again
        )
        ways[name] = {"at_hand": share, "environments": environments, "usd": usd}
    return {"tenants": tenants, "tenant_chunks": TENANT_CHUNKS, "room": room, "first": asdict(first), "ways": ways}


def _settled(
    work: Workload, units: Units, first: FirstQuery, tenants: int, room: int, spread: Spread
) -> tuple[int, float]:
    """How many environments work at the mean, and what share they have at hand, each of which decides the other."""
    rate, share = work.queries * work.mean_share / spread.deployments, 1.0
    for _ in range(3):
        held_s = (units.function_ms + (1 - share) * first.took_ms) / 1_000
        environments = max(1, math.ceil(rate * held_s))
        share = at_hand(tenants // spread.deployments, room, environments, spread.skew)
    return environments * spread.deployments, share


def of_bucket(units: Units, grown: Mapping[str, Any], counted: Mapping[str, Any]) -> Units:
    """The costs of one chunk and one search over a bucket index of TENANT_CHUNKS chunks."""
    sizes = {int(size): each for size, each in grown["bucket-sizes"].items()}
    linked = grown["bucket-links"]["10"]
    smallest = sizes[min(sizes)]["own_cpu_ms"]
    steady = read(counted)["bucket"]["search, steady"]
    own = linked["own_cpu_ms"] + max(0.0, sizes[TENANT_CHUNKS]["own_cpu_ms"] - smallest)
    return replace(
        units,
        bytes_a_chunk=sizes[TENANT_CHUNKS]["bytes_a_chunk"],
        index_cpu_ms=0.0,
        own_cpu_ms=round(own, 1),
        read_units=steady.read_units,
        write_units=steady.write_units,
    )
