"""The README's table: what was measured of ragdrop and of the frameworks, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean

from benchmarks.collections import RETRIEVAL
from benchmarks.comparison_rows import ROWS, row
from benchmarks.peers.contenders import CONFIGURATIONS, NAMES, title
from benchmarks.peers_speed_table import OWN as OWN_SPEED
from benchmarks.peers_speed_table import OWN_BUCKET_TITLE, cpu_of_all
from benchmarks.records import BenchmarkRecord

OWN_QUALITY = "ragdrop, OpenSearch"
QUALITY = tuple(f"peers_quality_{name}" for name in RETRIEVAL)


def comparison_table(kept: Mapping[str, BenchmarkRecord]) -> str:
    """A column for each, a row for each thing that a kept record has measured; the best of a row stands in bold."""
    names = list(NAMES.values())
    collections = [name for name in QUALITY if name in kept]
    rows = quality_rows({name: kept[name] for name in collections}) if collections else []
    rows += speed_rows(kept["peers_speed"]) if "peers_speed" in kept else []
    rows += [line for name, rows_of in ROWS.items() if name in kept for line in rows_of(kept[name], names)]
    head = f"| | ragdrop | {' | '.join(NAMES.values())} |"
    return "\n".join([head, "|---|" + "---|" * (len(NAMES) + 1), *rows])


def quality_rows(kept: Mapping[str, BenchmarkRecord]) -> list[str]:
    """Mean nDCG@10 over the collections, as recommended and with the best configuration that was tried."""

    def mean(contender: str) -> float:
        return fmean(record.results["contenders"][contender]["ndcg_at_10"] for record in kept.values())

    *others, last = [name.removeprefix("peers_quality_") for name in kept]
    where = f", mean of {', '.join(others)} and {last}" if others else f" on {last}"
    own = mean(OWN_QUALITY)
    recommended = [mean(title(name, each[0])) for name, each in CONFIGURATIONS.items()]
    best = [max(mean(title(name, one)) for one in each) for name, each in CONFIGURATIONS.items()]
    return [
        row(f"nDCG@10{where}, as its documentation recommends", [own, *recommended], 4, most=True),
        row("the same, the best of the configurations tried", [own, *best], 4, most=True),
    ]


def speed_rows(record: BenchmarkRecord) -> list[str]:
    """Milliseconds of a question at the smallest size measured; docs/evidence/performance.md has all figures."""
    size = record.results[0]
    found = []
    for callers, held in size["callers"].items():
        others = [title(name, each[0]) for name, each in CONFIGURATIONS.items()]
        ours = [OWN_SPEED, *others]
        who = "one caller" if callers == "1" else f"{callers} callers"
        what = f"a question over {size['chunks']:,} chunks, {who}"
        found.append(row(f"{what}: p50, ms", [_of(held, name, "p50_ms") for name in ours], 1))
        if OWN_BUCKET_TITLE in held:
            bucket = [_of(held, name, "p50_ms") for name in (OWN_BUCKET_TITLE, *others)]
            found.append(row("the same, ragdrop with its bucket index", bucket, 1))
        whole = [cpu_of_all(held[name]) if name in held else None for name in ours]
        if not any(whole):
            found.append(row(f"{what}: CPU of the caller, ms", [_of(held, name, "cpu_ms") for name in ours], 1))
        elif callers == "1":
            found.append(row(f"{what}: CPU of caller, node and embedding server, ms", whole, 1))
    return found


def _of(held: Mapping[str, Mapping[str, float]], name: str, figure: str) -> float | None:
    return held[name][figure] if name in held else None
