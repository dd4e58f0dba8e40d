"""The table of goals beside other frameworks: what was wanted and what the kept records show."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.cold_start.table import IMPORT_GOAL, SIZE_GOAL, lightest
from benchmarks.comparison_rows import OWN
from benchmarks.cost.usages import read
from benchmarks.growth.page import missed as missed_growth
from benchmarks.peers.contenders import CONFIGURATIONS, title
from benchmarks.peers_quality_table import CHANCE
from benchmarks.peers_speed_table import OWN as OWN_SPEED
from benchmarks.records import BenchmarkRecord

RAW, FLOOR = "its calls again, raw", 1.25
INGEST, UNCHANGED = 1.15, 100
READS, TABLES_USD = 3, 1_000
Row = tuple[str, str, bool]
"""What is wanted, what is seen, whether that meets it."""


def goals_table(kept: Mapping[str, BenchmarkRecord]) -> str:
    """A row a goal of which there is a record; what misses stands in bold."""
    rows = [row for name, rows_of in GOALS.items() if name in kept for row in rows_of(kept[name].results)]
    lines = [f"| {goal} | {seen if met else f'**{seen}**'} | {'yes' if met else 'no'} |" for goal, seen, met in rows]
    return "\n".join(["| goal | seen | met |", "|---|---|---|", *lines])


def speed_goals(found: Any) -> list[Row]:
    """Beside its own raw calls and beside every framework, one caller, the smallest size measured."""
    held = found[0]["callers"]["1"]
    own = held[OWN_SPEED]
    theirs = {called: held[called] for called in (title(name, each[0]) for name, each in CONFIGURATIONS.items())}
    ratio = own["p50_ms"] / held[RAW]["p50_ms"]
    rows = [(f"search p50 at most {FLOOR} x its raw calls", f"{ratio:.2f} x", ratio <= FLOOR)]
    for figure, what in (("p50_ms", "p50"), ("cpu_ms", "processor time")):
        name = min(theirs, key=lambda one: theirs[one][figure])
        seen = f"{own[figure]:.1f} ms; {name}: {theirs[name][figure]:.1f} ms"
        rows.append((f"search {what} lower than every framework's", seen, own[figure] <= theirs[name][figure]))
    return rows


def quality_goals(found: Any) -> list[Row]:
    """Not worse by more than chance than the best configuration of any framework."""
    contenders: Mapping[str, Any] = found["contenders"]
    own = next(each for name, each in contenders.items() if name.startswith(OWN))
    name = max(
        (one for one in contenders if not one.startswith(OWN)), key=lambda one: float(contenders[one]["ndcg_at_10"])
    )
    best = contenders[name]
    worse = own["ndcg_at_10"] < best["ndcg_at_10"] and best["p"] < CHANCE
    seen = f"{own['ndcg_at_10']:.4f}; {name}: {best['ndcg_at_10']:.4f}, p {best['p']:.2f}"
    return [(f"nDCG@10 on {found['collection']} at least that of the best configuration", seen, not worse)]


def change_goals(found: Any) -> list[Row]:
    """Nothing stale, double or lost."""
    total = sum(sum(counts.values()) for counts in found["systems"][OWN]["counts"])
    return [("no stale hit, duplicate or loss in the change script", f"{total}", total == 0)]


def cold_start_goals(found: Any) -> list[Row]:
    """The worst of ragdrop's functions beside the lightest framework function of its job."""
    rows = []
    for figure, goal, what in (
        ("ready_cpu_s", IMPORT_GOAL, "cold import at most half"),
        ("size_bytes", SIZE_GOAL, "size at most a third"),
    ):
        beside = {name: lightest(found, row["job"], figure) for name, row in found["functions"].items() if row["ours"]}
        shares = {name: found["functions"][name][figure] / light for name, light in beside.items() if light}
        seen = ", ".join(f"{name.removeprefix('ragdrop ')} {share:.2f}" for name, share in shares.items())
        rows.append((f"{what} of the lightest framework function's", seen, max(shares.values()) <= goal))
    return rows


def ingest_goals(found: Any) -> list[Row]:
    """Beside embedding alone, and a second run beside the first."""
    own = found["systems"][OWN]
    ratio, times = own["first"]["wall_s"] / own["first"]["busy_s"], own["first"]["wall_s"] / own["unchanged"]["wall_s"]
    return [
        (f"ingest within {INGEST} x of embedding alone", f"{ratio:.2f} x", ratio <= INGEST),
        (f"a second, unchanged run over {UNCHANGED} x faster", f"{times:,.0f} x", times > UNCHANGED),
    ]


def growth_goals(found: Any) -> list[Row]:
    """The budgets of growth over OpenSearch."""
    short = missed_growth(found)
    return [("growth with the chunks and with other tenants within budget", "; ".join(short) or "within", not short)]


def cost_goals(found: Any) -> list[Row]:
    """What a search right after another asks of the registry's table."""
    units = {index: each["search, at once after another"].read_units for index, each in read(found).items()}
    seen = ", ".join(f"{index} {asked:g}" for index, asked in units.items())
    return [(f"at most {READS} read units a search, steady", seen, max(units.values()) <= READS)]


def scale_goals(found: Any) -> list[Row]:
    """The line of the scale plan that was the largest."""
    usd = next(iter(found["months"].values()))["tables"]
    return [(f"tables of the scale plan under {TABLES_USD:,} USD a month", f"{usd:,.0f} USD", usd < TABLES_USD)]


GOALS: Mapping[str, Callable[[Any], list[Row]]] = {
    "peers_speed": speed_goals,
    "peers_quality_cranfield": quality_goals,
    "peers_quality_hotpotqa-500": quality_goals,
    "peers_quality_scifact": quality_goals,
    "change": change_goals,
    "cold_start": cold_start_goals,
    "peers_ingest": ingest_goals,
    "growth": growth_goals,
    "cost": cost_goals,
    "scale": scale_goals,
}
"""By record the goals that it shows."""
