"""The tables of query speed beside other frameworks, made from the record of benchmarks/peers_speed.py."""

from __future__ import annotations

from benchmarks.records import BenchmarkRecord

OWN = "ragdrop, in process"


def speed_table(record: BenchmarkRecord) -> str:
    """For each size a row a contender: p50, p95, p99 and CPU per question, with one caller and with several."""
    parts = []
    for size in record.results:
        many = max(size["callers"], key=int)
        times = "p50 | p95 | p99 | CPU"
        head = f"| {size['chunks']:,} chunks | {times} | p50 as a share of ragdrop's | {many} callers: {times} |"
        lines = [head, "|---|" + "---|" * 9]
        own = size["callers"]["1"][OWN]["p50_ms"]
        for name, one in size["callers"]["1"].items():
            eight = size["callers"][many][name]
            cells = [f"{held[kind]:.1f}" for held in (one, eight) for kind in ("p50_ms", "p95_ms", "p99_ms", "cpu_ms")]
            cells.insert(4, f"{one['p50_ms'] / own:.2f}")
            lines.append(f"| {name} | {' | '.join(cells)} |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)
