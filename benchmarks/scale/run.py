"""The scale plan: 100 million chunks and 1,000 queries a second on AWS, and where the limits bend first.

    python -m benchmarks.scale [--write]

The plans are reckoned from the kept figures of growth, of the bucket index and of counted costs (`--write` of
`python -m benchmarks.growth`, `.bucket_index` and `.cost` first), prices of pages/cost.py and limits of
template.yaml; the simulations then let queries and documents arrive.  `--write` keeps what they gave in
benchmarks/results/scale.json and writes docs/evidence/scale.md, and its plot where .local/env/plots is.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks import records
from benchmarks.cost.usages import read
from benchmarks.growth.fits import power_law
from benchmarks.plots import draw
from benchmarks.records import BenchmarkRecord
from benchmarks.scale import ingest_simulation, query_simulation
from benchmarks.scale.bucket_plan import TENANT_CHUNKS, FirstQuery, bucket_plan, of_bucket
from benchmarks.scale.ingest_simulation import IngestLimits, steady
from benchmarks.scale.page import page, scale_page
from benchmarks.scale.plan import Plan, Units, Workload, month, plan
from benchmarks.scale.query_simulation import QueryLimits, QueryOutcome, Time
from tests.architecture.cloudformation import read_template

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/evidence/scale.md"
RATES = (50, 100, 150, 200, 300, 400, 600, 800, 1_000, 1_500, 2_000, 3_000, 4_000, 6_000, 8_000)
BUCKET_RATES = (1, 10, 100, 10_000)  # beside that of the workload
TIMES = 10  # the workload's searches, for what changes then
MOST = {"as shipped": 1, "stage throttle raised": 2, "quotas raised too": 8}  # times the planned rate
SECONDS = 10.0
ACCOUNT_ENVIRONMENTS, TABLE_UNITS, ACCOUNT_RATE = 1_000, 40_000, 10_000  # default quotas, sources on the page
DAY_S, HOUR_S = 86_400.0, 3_600.0
BURST = 100_000  # documents that somebody pushes at once
BATCH_S, DOCUMENT_S = 1.0, 0.4  # of an invocation and of each document in it; assumed, an embedding service on AWS


def units(grown: Mapping[str, Any], counted: Mapping[str, Any], work: Workload) -> Units:
    """Costs of one chunk and one query, from growth's figures and the *counted* requests of a search.

    A search's time in the index is that of its candidates at the size of a tenant, by the fit, and what a whole search
    with ten links took on top of its candidates in the smallest index; where that was not measured, as much again.
    """
    sizes = {int(size): each for size, each in grown["opensearch-sizes"].items()}
    largest, smallest = sizes[max(sizes)], sizes[min(sizes)]
    law = power_law({size: each["index_cpu_ms"] for size, each in sizes.items()})
    grows = (work.chunks / work.tenants / max(sizes)) ** max(law.exponent, 0.0)
    linked = grown.get("opensearch-links", grown["bucket-links"])["10"]
    on_top = (
        linked["index_cpu_ms"] - smallest["index_cpu_ms"] if "opensearch-links" in grown else smallest["index_cpu_ms"]
    )
    steady = read(counted)["opensearch"]["search, steady"]
    return Units(
        bytes_a_chunk=largest["bytes_a_chunk"],
        index_cpu_ms=round(largest["index_cpu_ms"] * grows + max(on_top, 0.0), 1),
        own_cpu_ms=linked["own_cpu_ms"],
        read_units=steady.read_units,
        written_a_second=largest["written_a_second"],
        write_units=steady.write_units,
    )


def as_shipped(costs: Units, made: Plan) -> QueryLimits:
    """The template's throttle and an account's default quotas, over the planned nodes."""
    resources = read_template()["Resources"]
    [stage] = [each["Properties"] for each in resources.values() if each["Type"] == "AWS::Serverless::Api"]
    [throttle] = stage["MethodSettings"]
    return QueryLimits(
        gateway_rate=float(throttle["ThrottlingRateLimit"]),
        gateway_burst=int(throttle["ThrottlingBurstLimit"]),
        environments=ACCOUNT_ENVIRONMENTS,
        reads_a_second=TABLE_UNITS,
        reads_a_query=costs.read_units,
        index_cores=made.cluster.cores,
        own=_spread(costs.own_cpu_ms * costs.function_factor),
        waiting=_spread(costs.waiting_ms),
        index=_spread(costs.index_cpu_ms),
    )


def _spread(milliseconds: float) -> Time:
    """A time whose 95th percentile is twice its median."""
    return Time(milliseconds / 1_000, 2 * milliseconds / 1_000)


def queries(shipped: QueryLimits, made: Plan, work: Workload) -> dict[str, Any]:
    """What becomes of the queries at each rate: as shipped, throttle raised, quotas raised."""
    opened = replace(shipped, gateway_rate=float(ACCOUNT_RATE), gateway_burst=5_000)
    raised = replace(opened, environments=10 * ACCOUNT_ENVIRONMENTS, reads_a_second=10 * made.reads_a_second)
    # from here on nobody but the index says no
    ways = {"as shipped": shipped, "stage throttle raised": opened, "quotas raised too": raised}
    return {
        name: {
            str(rate): _told(query_simulation.simulate(limits, rate=rate, seconds=SECONDS))
            for rate in RATES
            if rate <= MOST[name] * work.queries
        }
        for name, limits in ways.items()
    }


def _told(found: QueryOutcome) -> dict[str, Any]:
    times = {f"p{each}_ms": found.percentile_ms(each) for each in (50, 95, 99)}
    return {
        **{name: None if each is None else round(each) for name, each in times.items()},
        "refused": {name: round(count / found.arrived, 4) for name, count in sorted(found.refused.items())},
    }


def documents(work: Workload, made: Plan) -> dict[str, Any]:
    """What becomes of documents in the queue: an ordinary day's rate, a push of 100,000, an outage of an hour."""
    shipped = IngestLimits(batch_s=BATCH_S, document_s=DOCUMENT_S)
    wide = replace(shipped, concurrency=max(50, made.ingest_batches))
    rate = work.changes_a_second
    outage = (HOUR_S, 2 * HOUR_S)
    some = steady(rate, 6 * HOUR_S)
    runs = {
        f"{rate:.1f} documents a second, {shipped.concurrency} at once": (shipped, some, 6 * HOUR_S),
        f"three times that, {shipped.concurrency} at once": (shipped, steady(3 * rate, 6 * HOUR_S), 6 * HOUR_S),
        f"{BURST:,} at once, {shipped.concurrency} at once": (shipped, [(0.0, BURST)], DAY_S),
        f"{BURST:,} at once, {wide.concurrency} at once": (wide, [(0.0, BURST)], DAY_S),
        "an hour without the embedding service": (replace(shipped, outage_s=outage), some, 6 * HOUR_S),
        "one batch in a hundred killed": (replace(shipped, killed_share=0.01), some, 6 * HOUR_S),
    }
    told = {}
    for name, (limits, arrivals, seconds) in runs.items():
        found = ingest_simulation.simulate(limits, arrivals, seconds=seconds, every_s=300.0)
        drained = next((at for at, depth in found.depths if at > 0 and depth == 0), None)
        told[name] = {
            **{key: getattr(found, key) for key in ("arrived", "indexed", "dead", "waiting", "deepest")},
            "oldest_s": round(found.oldest_s),
            "drained_s": drained if found.deepest == BURST else None,
            "depths": [[round(at), depth] for at, depth in found.depths[::6]],
        }
    return told


def _planned(work: Workload, costs: Units) -> Plan:
    return plan(work, costs, batch=5, batch_ms=1_000 * (BATCH_S + 5 * DOCUMENT_S))


def busier(work: Workload, costs: Units) -> dict[str, Any]:
    """What the workload needs and costs at its rate and at TIMES that, beside an account's default quotas."""
    found: dict[str, Any] = {
        "quotas": {"requests": ACCOUNT_RATE, "environments": ACCOUNT_ENVIRONMENTS, "reads": TABLE_UNITS},
        "rates": {},
    }
    for rate in (work.queries, TIMES * work.queries):
        asked = replace(work, queries=rate)
        made = _planned(asked, costs)
        found["rates"][f"{rate:,}"] = {
            "requests": rate,
            "environments": made.environments,
            "reads": made.reads_a_second,
            "busy_cores": made.busy_cores,
            "index_cores": made.cluster.cores,
            "cluster": asdict(made.cluster),
            "usd": month(asked, costs, made, share=work.mean_share),
        }
    return found


def buckets(work: Workload, costs: Units, own: Units, first: FirstQuery) -> dict[str, Any]:
    """The plan with bucket indexes, and by the rate at the peak what a month costs with OpenSearch and with these."""
    totals: dict[str, list[float]] = {}
    found: dict[str, Any] = {}
    for rate in sorted({*BUCKET_RATES, work.queries}):
        asked = replace(work, queries=rate)
        made = _planned(asked, costs)
        of_rate = bucket_plan(asked, own, first, made)
        usd = [month(asked, costs, made, share=work.mean_share), *(each["usd"] for each in of_rate["ways"].values())]
        totals[f"{rate:,}"] = [sum(each.values()) for each in usd]
        if rate == work.queries:
            found = of_rate
    return found | {"rates": totals}


def found_out(grown: BenchmarkRecord, bucket: BenchmarkRecord, counted: BenchmarkRecord) -> dict[str, Any]:
    """The plans and what the simulations gave."""
    work = Workload()
    costs = units(grown.results, counted.results, work)
    first = FirstQuery.of_record(bucket.results, TENANT_CHUNKS)
    made = _planned(work, costs)
    months = {f"{share:.0%}": month(work, costs, made, share=share) for share in (work.mean_share, 1.0)}
    found: dict[str, Any] = {
        "workload": asdict(work),
        "units": asdict(costs) | {"function_ms": round(costs.function_ms, 1)},
        "links_on": "OpenSearch" if "opensearch-links" in grown.results else "the bucket index",
        "measured": grown.told,
        "simulated_s": SECONDS,
        "batch_s": BATCH_S,
        "document_s": DOCUMENT_S,
        "plan": asdict(made) | {"index_usd": made.cluster.usd, "index_cores": made.cluster.cores},
        "months": months,
        "busier": busier(work, costs),
        "queries": queries(as_shipped(costs, made), made, work),
        "documents": documents(work, made),
        "bucket": buckets(work, costs, of_bucket(costs, grown.results, counted.results), first),
    }
    return found


def main() -> int:
    """Reckon, simulate, print the page; keep and write it if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="keep the results and write docs/evidence/scale.md")
    options = parser.parse_args()
    held = {name: records.read(name) for name in ("growth", "bucket_index", "cost")}
    missing = [name for name, record in held.items() if record is None]
    if missing:
        print(f"scale: there are no figures yet: python -m benchmarks.{missing[0]} --write", file=sys.stderr)
        return 1
    found = found_out(*(record for record in held.values() if record is not None))
    if not options.write:
        print(page(found, "Not kept."))
        return 0
    record = records.keep("scale", found, {"simpy": version("simpy")})
    PAGE.write_text(scale_page(record), "utf-8")
    draw("benchmarks.scale.plot")
    return 0


if __name__ == "__main__":
    sys.exit(main())
