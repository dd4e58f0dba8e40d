"""The tables of query speed beside other frameworks, made from the record of benchmarks/peers_speed.py."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.records import BenchmarkRecord

OWN = "ragdrop, in process"
OWN_BUCKET_TITLE = "ragdrop, bucket index"
OTHERS = ("node_cpu_ms", "embedding_cpu_ms")


def speed_table(record: BenchmarkRecord) -> str:
    """For each size a row a contender: p50, p95, p99 and CPU per question, with one caller and with several.

    CPU of all is that of the caller, of the node and of the embedding server, where these were measured.
    """
    parts = []
    for size in record.results:
        many = max(size["callers"], key=int)
        times = "p50 | p95 | p99 | CPU | CPU of all"
        head = f"| {size['chunks']:,} chunks | {times} | p50 as a share of ragdrop's | {many} callers: {times} |"
        lines = [head, "|---|" + "---|" * 11]
        own = size["callers"]["1"].get(OWN)
        for name, one in size["callers"]["1"].items():
            share = f"{one['p50_ms'] / own['p50_ms']:.2f}" if own else ""
            cells = [*_cells(one), share, *_cells(size["callers"][many][name])]
            lines.append(f"| {name} | {' | '.join(cells)} |")
        left_out = [f"{name} is left out: {why}." for name, why in size.get("left_out", {}).items()]
        parts += ["\n".join(lines), *left_out]
    return "\n\n".join(parts)


def _cells(one: Mapping[str, float]) -> list[str]:
    cells = [f"{one[kind]:.1f}" for kind in ("p50_ms", "p95_ms", "p99_ms", "cpu_ms")]
    return [*cells, "" if cpu_of_all(one) is None else f"{cpu_of_all(one):.1f}"]


def cpu_of_all(one: Mapping[str, float]) -> float | None:
    """Milliseconds of processor time of caller, node and embedding server; None where only the caller's is known.

    >>> cpu_of_all({"cpu_ms": 4.0, "node_cpu_ms": 9.0, "embedding_cpu_ms": 1.0}), cpu_of_all({"cpu_ms": 4.0})
    (14.0, None)
    """
    return one["cpu_ms"] + sum(one[kind] for kind in OTHERS) if all(kind in one for kind in OTHERS) else None
