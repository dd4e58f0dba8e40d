"""docs/evidence/scale.md from the kept results of the scale plan."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.environment_table import measured_line
from benchmarks.records import BenchmarkRecord
from pages.wrap import wrapped

WORN, SLOW_MS = 0.01, 1_000  # share of the queries refused, and p95 of the others: from here a limit has bent
LIMITS = {
    "gateway": "the stage's throttle (`ThrottlingRateLimit`, 429)",
    "environments": "Lambda's concurrent executions",
    "table": "the read units of the registry's table",
    "deadline": "the processors of the data nodes",
}

COUNTED = "[counted](../cost.md#one-question-one-document)"

Figures = dict[str, Any]
TEMPLATE = Path(__file__).with_name("page.txt")


def scale_page(record: BenchmarkRecord) -> str:
    """The whole page of a record."""
    return wrapped(page(record.results, measured_line([record], "environment.md", "Written")))


def page(found: Figures, told: str) -> str:
    """The whole page; *told* says where and when it was written."""
    work, units, made = found["workload"], found["units"], found["plan"]
    batch_s = _batch_s(found)
    rate = 5 / batch_s
    first, wide = work["chunks"] // work["document_chunks"], 50
    return TEMPLATE.read_text("utf-8").format(
        chunks=_short(work["chunks"]),
        queries=work["queries"],
        workload=_workload(work),
        tenants=f"{work['tenants']:,}",
        units=_units(found),
        measured=found["measured"].partition(";")[0],
        plan=_plan(found),
        cluster=_cluster(made),
        bound=_bound(made),
        shards=made["shards"],
        shard_gib=made["stored_gib"] / 6,
        months=_months(found["months"]),
        largest=_largest(found["months"]),
        busier=_busier(found["busier"]),
        busier_rate=list(found["busier"]["rates"])[-1],
        **_bucket(found),
        bends=_bends(found["queries"]),
        seconds=found["simulated_s"],
        spread=_spread(units),
        queries_table=_queries(found["queries"]),
        batch=f"{batch_s:.0f} s",
        documents=_documents(found["documents"]),
        rate=rate,
        first=first,
        days=first / (5 * rate) / 86_400,
        days_wide=first / (wide * rate) / 86_400,
        wide=wide,
        stamp=told,
    )


def _batch_s(found: Figures) -> float:
    return float(found["batch_s"] + 5 * found["document_s"])


def _short(count: int) -> str:
    return f"{count / 1e6:g} million"


def _rows(head: str, rows: list[tuple[str, ...]]) -> str:
    columns = len(rows[0])
    return "\n".join([head, "|---" * columns + "|", *(f"| {' | '.join(row)} |" for row in rows)])


def _workload(work: Figures) -> str:
    documents = work["chunks"] // work["document_chunks"]
    return _rows(
        "| what | so much |",
        [
            ("chunks, of 384 dimensions and some 150 words", f"{work['chunks']:,}"),
            (f"documents, of {work['document_chunks']} chunks", f"{documents:,}"),
            ("tenants, of equal size", f"{work['tenants']:,}"),
            ("searches a second at the peak, with defaults", f"{work['queries']:,}"),
            ("mean of the month", f"{work['mean_share']:.0%} of that"),
            ("documents new or changed in a day", f"{documents * work['changed_a_day']:,.0f}"),
            ("copies of the index", str(1 + work["replicas"])),
        ],
    )


def _units(found: Figures) -> str:
    units, linked = found["units"], f"measured, a whole search on {found['links_on']}, ten links a document"
    index = "measured: candidates at the size of a tenant by the fit, and the rest of a search"
    if found["links_on"] != "OpenSearch":
        index = (
            "measured for the candidates, at the size of a tenant by the fit; assumed to be as much again for the rest"
        )
    return _rows(
        "| what | so much | from |",
        [
            ("bytes of a chunk, one copy", f"{units['bytes_a_chunk']:,}", "measured, the largest index of growth"),
            ("processor time of the data nodes a search, ms", f"{units['index_cpu_ms']:.1f}", index),
            ("processor time of the function a search, ms", f"{units['own_cpu_ms']:.1f}", linked),
            (
                "read units of the registry a search",
                f"{units['read_units']:g}",
                COUNTED,
            ),
            ("waiting for embedding service and registry, ms", f"{units['waiting_ms']:.0f}", "assumed"),
            (
                f"a search holds an environment of {units['memory_mb']:,} MB, ms",
                f"{units['function_ms']:.0f}",
                "the sum, at its share of a core",
            ),
        ],
    )


def _plan(found: Figures) -> str:
    made, work = found["plan"], found["workload"]
    return _rows(
        "| what | so much |",
        [
            (
                "graphs and vectors in memory, both copies",
                f"{made['graph_gib']:,.0f} GiB = 1.1 x (4 x 384 + 8 x 16) bytes x vectors x 2",
            ),
            ("index on disk, one copy", f"{made['stored_gib']:,.0f} GiB"),
            ("primary shards, of at most 25 GiB", str(made["shards"])),
            ("processors at work at the peak", f"{made['busy_cores']:.1f} of {made['index_cores']}"),
            ("data nodes", _cluster(made)),
            ("disk of each, gp3", f"{made['cluster']['disk_gib']:,} GiB"),
            ("execution environments of `query` at the peak", f"{made['environments']:,}"),
            ("read units a second at the peak", f"{made['reads_a_second']:,.0f}"),
            ("batches of ingest at once, an ordinary day", f"{made['ingest_batches']} (5 is the default)"),
        ],
    ) + ("" if work["replicas"] else "\n\nWithout a second copy a lost node is an outage.")


def _cluster(made: Figures) -> str:
    each = made["cluster"]
    return f"{each['nodes']} x {each['instance']} ({each['vcpus']} vCPU, {each['memory_gib']} GiB) in three zones"


def _bound(made: Figures) -> str:
    share = made["busy_cores"] / made["index_cores"]
    what = "Memory decides" if share < 0.4 else "Processors decide"
    return f"{what}: at the peak {share:.0%} of the processors would be at work."


def _months(months: Figures) -> str:
    heads = " | ".join(f"mean {share} of the peak" for share in months)
    rows = [(name, *(f"{each[name]:,.0f}" for each in months.values())) for name in next(iter(months.values()))]
    rows.append(("**a month, USD**", *(f"**{sum(each.values()):,.0f}**" for each in months.values())))
    return _rows(f"| USD | {heads} |", rows)


def _busier(found: Figures) -> str:
    """What two rates of searches need and cost, and an account's default quotas."""
    made, quotas = list(found["rates"].values()), found["quotas"]
    rows: list[tuple[str, ...]] = [
        ("data nodes", *(f"{each['cluster']['nodes']} x {each['cluster']['instance']}" for each in made), "–"),
        (
            "their processors at work at the peak",
            *(f"{each['busy_cores']:,.0f} of {each['index_cores']:,}" for each in made),
            "–",
        ),
        ("requests a second through the gateway", *(f"{each['requests']:,}" for each in made), _ms(quotas["requests"])),
        ("environments of `query`", *(f"{each['environments']:,}" for each in made), _ms(quotas["environments"])),
        ("read units a second", *(f"{each['reads']:,.0f}" for each in made), _ms(quotas["reads"])),
        *((f"{name}, USD", *(f"{each['usd'][name]:,.0f}" for each in made), "") for name in made[0]["usd"]),
        ("**a month, USD**", *(f"**{sum(each['usd'].values()):,.0f}**" for each in made), ""),
    ]
    rates = " | ".join(f"{rate} a second" for rate in found["rates"])
    return _rows(f"| at the peak; USD at the mean | {rates} | default quota |", rows)


def _bucket(found: Figures) -> dict[str, str]:
    """What the page says of bucket indexes: their table, and the sizes that it names."""
    made, first = found["bucket"], found["bucket"]["first"]
    ways = made["ways"]
    costs = f"{first['took_ms']:.0f} ms, {first['requests']} requests and {first['bytes_fetched'] / 1e6:.0f} MB"
    columns = [next(iter(found["months"].values())), *(each["usd"] for each in ways.values())]
    rows = [
        (
            "searches with the index at hand",
            "–",
            *(f"{each['at_hand']:.0%}" for each in ways.values()),
        ),
        ("environments at work at the mean", "–", *(f"{each['environments']:,}" for each in ways.values())),
        *((name, *(f"{each[name]:,.0f}" for each in columns)) for name in columns[0]),
        ("**a month, USD**", *(f"**{sum(each.values()):,.0f}**" for each in columns)),
    ]
    return {
        "bucket_tenants": f"{made['tenants']:,}",
        "bucket_chunks": f"{made['tenant_chunks']:,}",
        "bucket_room": f"{made['room']:,}",
        "bucket_first": costs,
        "bucket_rates": _rows(
            f"| USD a month | OpenSearch | {' | '.join(ways)} |",
            [(f"{rate} a second", *(f"{usd:,.0f}" for usd in totals)) for rate, totals in made["rates"].items()],
        ),
        "bucket_months": _rows(f"| | OpenSearch | {' | '.join(ways)} |", rows),
    }


def _bends(queries: Figures) -> str:
    lines = []
    for name, rates in queries.items():
        at = next((rate for rate in sorted(map(int, rates)) if _bent(rates[str(rate)])), None)
        if at is None:
            lines.append(f"- **{name}**: nothing bends up to {max(map(int, rates)):,} a second.")
            continue
        refused, p95_ms = rates[str(at)]["refused"], rates[str(at)]["p95_ms"]
        first = max(refused, key=lambda limit: refused[limit], default="deadline")
        share = f"{sum(refused.values()):.0%} refused, p95 of the others {_ms(p95_ms)} ms"
        lines.append(f"- **{name}**: at {at:,} a second, by {LIMITS[first]}: {share}.")
    return "\n".join(lines)


def _bent(rate: Figures) -> bool:
    return sum(rate["refused"].values()) > WORN or (rate["p95_ms"] or 0) > SLOW_MS


def _largest(months: Figures) -> str:
    """Which line carries the bill, and why where the reason is known."""
    name = max(next(iter(months.values())), key=lambda each: next(iter(months.values()))[each])
    why = (
        ": what each query reads of the registry, the price of never showing what was deleted"
        if name == "tables"
        else ""
    )
    return f"The largest line is *{name}*{why}."


def _queries(queries: Figures) -> str:
    rows = []
    for name, rates in queries.items():
        for rate in sorted(map(int, rates)):
            each = rates[str(rate)]
            refused = ", ".join(f"{limit} {share:.1%}" for limit, share in each["refused"].items()) or "nothing"
            rows.append((name, f"{rate:,}", *(_ms(each[key]) for key in ("p50_ms", "p95_ms", "p99_ms")), refused))
    return _rows("| limits | queries a second | p50, ms | p95, ms | p99, ms | refused |", rows)


def _ms(value: Any) -> str:
    return "–" if value is None else f"{value:,}"


def _spread(units: Figures) -> str:
    return (
        f"A query then holds an environment for about {units['function_ms']:.0f} ms, so the default 1,000 environments"
        f" are enough for some {1_000_000 / units['function_ms']:,.0f} a second, as long as the index is not full."
    )


def _documents(runs: Figures) -> str:
    rows = []
    for name, run in runs.items():
        drained = "" if run["drained_s"] is None else f"{run['drained_s'] / 3_600:.1f} h"
        counts = (f"{run[key]:,}" for key in ("arrived", "indexed", "dead", "waiting", "deepest"))
        rows.append((name, *counts, f"{run['oldest_s']:,}", drained))
    return _rows("| run | arrived | indexed | dead | waiting at the end | deepest | oldest, s | empty after |", rows)
