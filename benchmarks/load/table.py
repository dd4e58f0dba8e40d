"""The tables of a load and of a soak, from their records."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from benchmarks.load.figures import ERRORS, FALLBACKS, P95_MS, P99_MS
from benchmarks.records import BenchmarkRecord

LEAST_MS = 0.5  # of processor time a search that is told
PLOTS = (
    "![Latency of searches during the load, and its distribution](load-latency.svg)",
    "![Memory of the query function's processes over the requests](load-memory.svg)",
)


def load_table(record: BenchmarkRecord) -> str:
    """Table and plots of a load."""
    return "\n".join([*load_rows(record.results), "", *PLOTS])


def load_rows(found: Mapping[str, Any]) -> list[str]:
    """The figures of a load as a Markdown table."""
    said = [
        (f"p95, ms, of {found['requests']:,} searches", f"< {P95_MS:.0f}", f"{found['p95_ms']:.0f}"),
        ("p99, ms", f"< {P99_MS:.0f}", f"{found['p99_ms']:.0f}"),
        ("errors", f"< {ERRORS:.0%}", f"{found['errors']:.1%}"),
        ("fallback", f"< {FALLBACKS:.0%}", f"{found['fallbacks']:.1%}"),
        ("p50, ms", "", f"{found['p50_ms']:.0f}"),
        ("inside the function (`latency_ms`), p50, p95 and p99, ms", "", _three(found, "function_")),
        ("the same request without a key, p50, p95 and p99, ms", "", _three(found, "gateway_")),
        ("answered from the functions' own cache", "", f"{found['cached']:.0%}"),
        ("searches a second", "", f"{found['a_second']:.1f}"),
        ("processor time a search, ms", "", _cpu(found["cpu"])),
        ("of that time both cores were busy", "", f"{found['busy']:.0%}"),
        *_spike(found.get("spike")),
        (
            f"memory of a query function's process after {found['all_requests']:,} requests, MB",
            "flat",
            f"{found['memory_mb']:.0f}; {found['growth_mb']:+.2f} a 1,000 requests over the later half",
        ),
    ]
    asked = f", {found['index']} index, all questions different" if found.get("distinct") else ""
    pause = f" with a pause of {found['pause_s']:g} s" if "pause_s" in found else ""
    head = f"| {found['users']} users{pause}, {found['minutes']:g} minutes{asked} | budget | measured |"
    return [head, "|---|---|---|", *(f"| {what} | {budget} | {value} |" for what, budget, value in said)]


def _spike(found: Mapping[str, Any] | None) -> list[tuple[str, str, str]]:
    if found is None:
        return []
    what = f"spike: {found['users']} users begin at once, {found['seconds']:g} s, {found['a_second']:.1f} a second"
    return [
        (f"{what}, p95, ms", f"< {P95_MS:.0f}", f"{found['p95_ms']:.0f}"),
        ("spike, p99, ms", f"< {P99_MS:.0f}", f"{found['p99_ms']:.0f}"),
        ("spike, errors", f"< {ERRORS:.0%}", f"{found['errors']:.1%}"),
    ]


def soak_table(record: BenchmarkRecord) -> str:
    """Table of a soak."""
    return "\n".join(soak_rows(record.results))


def soak_rows(found: Mapping[str, Any]) -> list[str]:
    """The figures of a soak as a Markdown table."""
    counts = found["counts"]
    changes = ", ".join(f"{counts.get(kind, 0):,} {kind}" for kind in ("created", "overwritten", "deleted"))
    by = ", ".join(f"{kind.removeprefix('searches ')} {count:,}" for kind, count in counts.items() if " " in kind)
    codes = ", ".join(f"{code}: {count:,}" for code, count in found["codes"].items()) or "none"
    drained = "no" if found["drained_s"] is None else f"after {found['drained_s']:.0f} s"
    return [
        f"| {found['minutes']:g} minutes | seen |",
        "|---|---|",
        f"| documents | {changes} |",
        f"| searches | {counts.get('searches', 0):,} ({by}) |",
        f"| errors of the table of codes | {codes} |",
        f"| stale, twice, vanished, or an error that is not in the table | {len(found['problems']):,} |",
        f"| queue and dead-letter queue empty, registry as the bucket | {drained} |",
    ]


def _three(found: Mapping[str, Any], prefix: str) -> str:
    return ", ".join(f"{found[f'{prefix}p{share}_ms']:.0f}" for share in (50, 95, 99))


def _cpu(spent: Mapping[str, float]) -> str:
    parts: dict[str, float] = {}
    for role, milliseconds in spent.items():
        name = re.sub(r"function: .*?(Query|Ingest|Generate|Mcp|Sweep)Function.*", r"\1 function", role)
        parts[name] = parts.get(name, 0.0) + milliseconds
    most = sorted(parts.items(), key=lambda each: -each[1])
    return ", ".join(f"{name.lower()} {spent:.0f}" for name, spent in most if spent >= LEAST_MS)
