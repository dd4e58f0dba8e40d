"""What growth's figures say: tables for docs/evidence/performance.md, and where a budget is missed."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from benchmarks.growth.fits import power_law
from benchmarks.records import BenchmarkRecord

TEN_TIMES, OTHERS = 1.5, 1.10  # p50 with ten times the chunks; with other tenants' data (issue 10, goal 6)
ENGINES = {"bucket": "The bucket index", "opensearch": "OpenSearch"}
GROWING = {"p50_ms": "p50", "p95_ms": "p95", "own_cpu_ms": "CPU here", "index_cpu_ms": "CPU of the node"}


def tables(found: dict[str, Any]) -> str:
    """Every part that was measured, as Markdown."""
    blocks = [_sizes(found[f"{name}-sizes"], name) for name in ENGINES if f"{name}-sizes" in found]
    blocks += [block for block in (_tenants(found), _links(found)) if block]
    short = missed(found)
    if {"opensearch-sizes", "opensearch-tenants"} <= set(found):
        blocks.append(f"**Missed**: {'; '.join(short)}." if short else "No budget of growth is missed.")
    return "\n\n".join(blocks)


def missed(found: dict[str, Any]) -> list[str]:
    """Each budget that OpenSearch's figures miss, in words."""
    lines = []
    for (small, one), (large, other) in pairwise(found.get("opensearch-sizes", {}).items()):
        if (ratio := other["p50_ms"] / one["p50_ms"]) > TEN_TIMES and int(small) >= 10_000:
            lines.append(
                f"p50 at {int(large):,} chunks is {ratio:.2f} x that at {int(small):,}, {TEN_TIMES} is allowed"
            )
    for count, ratio in others(found.get("opensearch-tenants", {})).items():
        if ratio > OTHERS:
            lines.append(f"with {count} tenants p50 is {ratio:.2f} x that of one alone, {OTHERS} is allowed")
    return lines


def others(tenants: dict[str, Any]) -> dict[str, float]:
    """By number of tenants the p50 of one beside all others, as a multiple of the smallest number's; empty if none."""
    counts = _counts(tenants)
    return {count: tenants[count]["p50_ms"] / tenants[counts[0]]["p50_ms"] for count in counts[1:]}


def _counts(found: dict[str, Any]) -> list[str]:
    return sorted((key for key in found if key.isdigit()), key=int)


def _of(found: dict[str, Any], kind: str) -> dict[str, Any]:
    """The engines' figures of one kind."""
    return {name: found[f"{name}-{kind}"] for name in ENGINES if f"{name}-{kind}" in found}


def _sizes(measured: dict[str, Any], name: str) -> str:
    sizes = {int(size): measured[size] for size in _counts(measured)}
    shown = ENGINES[name]
    kinds = {key: told for key, told in GROWING.items() if all(each[key] for each in sizes.values())}
    heads = [f"{shown}: chunks", *(f"{told}, ms" for told in kinds.values()), "memory, MB", "bytes a chunk"]
    lines = [f"| {' | '.join(heads)} | written a second |", "|---" * (len(heads) + 1) + "|"]
    for size, each in sizes.items():
        memory = ", ".join(f"{kind} {mb:,}" for kind, mb in each["memory_mb"].items())
        cells = [f"{each[key]:.1f}" for key in kinds]
        lines.append(
            f"| {size:,} | {' | '.join(cells)} | {memory} | {each['bytes_a_chunk']:,} | {each['written_a_second']:,} |"
        )
    fits = [f"{power_law({size: each[key] for size, each in sizes.items()}).exponent:.2f}" for key in kinds]
    ratios = [f"{list(sizes.values())[-1][key] / list(sizes.values())[-2][key]:.2f} x" for key in kinds]
    few, many = list(sizes)[-2:]
    lines.append(f"| {many:,} / {few:,} | {' | '.join(ratios)} | | | |")
    lines.append(f"| exponent of the fit | {' | '.join(fits)} | | | |")
    return "\n".join(lines)


def _tenants(found: dict[str, Any]) -> str:
    lines = ["| index | tenants | chunks of each | p50, ms | p95, ms | p50 / one tenant alone |", "|---" * 6 + "|"]
    for name, tenants in _of(found, "tenants").items():
        ratios = others(tenants)
        for count in _counts(tenants):
            each, ratio = tenants[count], f"{ratios[count]:.2f}" if count in ratios else ""
            times = f"{each['p50_ms']:.1f} | {each['p95_ms']:.1f}"
            lines.append(f"| {name} | {count} | {tenants['chunks_a_tenant']:,} | {times} | {ratio} |")
    return "\n".join(lines) if len(lines) > 2 else ""


def _links(found: dict[str, Any]) -> str:
    heads = ("index", "documents", "links of each", "p50, ms", "p95, ms", "CPU here, node, ms", "registry reads, items")
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for name, links in _of(found, "links").items():
        for count in ["off", *_counts(links)]:
            each, shown = links[count], "not followed" if count == "off" else count
            cells = (
                *(name, str(links["documents"]), shown, f"{each['p50_ms']:.1f}", f"{each['p95_ms']:.1f}"),
                f"{each['own_cpu_ms']:.1f}, {each['index_cpu_ms']:.1f}",
                f"{each['registry_calls']:.0f}, {each['registry_items']:.0f}",
            )
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) if len(lines) > 2 else ""


def growth_tables(record: BenchmarkRecord) -> str:
    """What a record says, for the report."""
    return tables(record.results)
