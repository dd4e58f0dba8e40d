"""The report of a load: a table in docs/performance.md and two plots beside it."""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.load_figures import ERRORS, FALLBACKS, P95_MS, P99_MS
from localstack.home import REPOSITORY, SHARED

PAGE = REPOSITORY / "docs/performance.md"
MARKS = ("<!-- load: written by benchmarks/load.py -->", "<!-- end of load -->")
PLOTTING = SHARED / "env/plots/bin/python"


def rows(found: Mapping[str, Any]) -> list[str]:
    """The figures as a Markdown table."""
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
        (
            f"memory of a query function's process after {found['all_requests']:,} requests, MB",
            "flat",
            f"{found['memory_mb']:.0f}; {found['growth_mb']:+.2f} a 1,000 requests over the later half",
        ),
    ]
    head = f"| {found['users']} users, {found['minutes']:g} minutes | budget | measured |"
    return [head, "|---|---|---|", *(f"| {what} | {budget} | {value} |" for what, budget, value in said)]


def write_report(found: Mapping[str, Any]) -> None:
    """Put table and plots into the page."""
    plot(found)
    block = "\n".join(
        (
            MARKS[0],
            *rows(found),
            "",
            "![Latency of searches during the load, and its distribution](load-latency.svg)",
            "![Memory of the query function's processes over the requests](load-memory.svg)",
            MARKS[1],
        )
    )
    begin, end = map(re.escape, MARKS)
    page = PAGE.read_text("utf-8")
    PAGE.write_text(re.sub(f"{begin}.*?{end}", lambda _: block, page, flags=re.DOTALL), "utf-8")


def plot(found: Mapping[str, Any]) -> None:
    """Draw both plots, by the environment that has matplotlib."""
    told = {name: found[name] for name in ("samples", "memory")}
    with tempfile.TemporaryDirectory(prefix="ragdrop-plot-") as folder:
        file = Path(folder) / "figures.json"
        file.write_text(json.dumps(told), "utf-8")
        command = [str(PLOTTING), "-m", "benchmarks.load_plot", str(file), str(PAGE.parent)]
        subprocess.run(command, cwd=REPOSITORY, check=True, timeout=120)  # noqa: S603 - our own module


def _three(found: Mapping[str, Any], prefix: str) -> str:
    return ", ".join(f"{found[f'{prefix}p{share}_ms']:.0f}" for share in (50, 95, 99))


def _cpu(spent: Mapping[str, float]) -> str:
    parts: dict[str, float] = {}
    for role, milliseconds in spent.items():
        name = re.sub(r"function: .*?(Query|Ingest|Generate|Mcp|Sweep)Function.*", r"\1 function", role)
        parts[name] = parts.get(name, 0.0) + milliseconds
    most = sorted(parts.items(), key=lambda each: -each[1])
    return ", ".join(f"{name.lower()} {spent:.0f}" for name, spent in most if spent >= 0.5)
