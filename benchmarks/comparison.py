"""The README's table of ragdrop beside the frameworks, and the table of goals, both from records."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Any

from benchmarks.cold_start import ALONE_BUDGET, IMPORT_GOAL, SIZE_GOAL, lightest
from benchmarks.collections import RETRIEVAL
from benchmarks.cost import read
from benchmarks.growth import missed_growth, others
from benchmarks.load import P95_MS, P99_MS
from benchmarks.peers.process import CONFIGURATIONS, NAMES, title
from benchmarks.peers_quality import CHANCE
from benchmarks.peers_speed import OWN_BUCKET_TITLE, cpu_of_all
from benchmarks.peers_speed import OWN_TITLE as OWN_SPEED
from benchmarks.push import PUSH_GOAL as PUSH
from benchmarks.push import ratio_of
from benchmarks.records import BenchmarkRecord
from benchmarks.served import slowest_own_and_best_other

OWN = "ragdrop"
NOTHING = "not measured"
OWN_QUALITY = "ragdrop, OpenSearch"
QUALITY = tuple(f"peers_quality_{name}" for name in RETRIEVAL)
RAW_CALLS, FLOOR, OWN_CPU_MS = "its calls again, raw", 1.25, 4.0
IN_PROCESS = title("txtai", CONFIGURATIONS["txtai"][0])
TENANTS, TENANTS_GOAL, SHARED_GOAL = "100", 1.05, 1.10
INGEST, UNCHANGED = 1.15, 100
READS, TABLES_USD = 3, 1_000
Row = tuple[str, str, bool]
"""What is required, what is seen, whether that meets it."""


def row(what: str, values: Sequence[float | None], digits: int, *, most: bool = False, unit: str = "") -> str:
    """One row; the best, the least unless *most*, in bold; None where something was not measured.

    >>> row("p50", [2.0, 1.0, None], 1)
    '| p50 | 2.0 | **1.0** | not measured |'
    """
    shown = [NOTHING if value is None else f"{value:,.{digits}f}{unit}" for value in values]
    known = [value for value in values if value is not None]
    best = f"{(max if most else min)(known):,.{digits}f}{unit}" if known else ""
    return f"| {what} | {' | '.join(f'**{each}**' if each == best else each for each in shown)} |"


def of_each(systems: Mapping[str, Any], names: Sequence[str]) -> list[Any]:
    """What *systems* hold of ragdrop and of each framework: the first that is called so; None where there is none."""
    return [
        next((present for called, present in systems.items() if called.partition(",")[0] == name), None)
        for name in (OWN, *names)
    ]


def change_rows(record: BenchmarkRecord, names: Sequence[str]) -> list[str]:
    """Stale hits, duplicates and missing paragraphs over all steps of the change script."""
    found = of_each(record.results["systems"], names)
    totals = [None if each is None else sum(sum(counts.values()) for counts in each["counts"]) for each in found]
    return [row("stale hits, duplicates and losses while a folder changes", totals, 0)]


def ingest_rows(record: BenchmarkRecord, names: Sequence[str]) -> list[str]:
    """The first run beside embedding alone, and a second one without a change beside the first."""
    found = of_each(record.results["systems"], names)
    first = [each and each["first"]["wall_s"] / each["first"]["busy_s"] for each in found]
    again = [each and each["first"]["wall_s"] / each["unchanged"]["wall_s"] for each in found]
    return [
        row("ingest, as a multiple of embedding alone", first, 2),
        row("a second run without a change: times faster", again, 0, most=True),
    ]


def answer_rows(record: BenchmarkRecord, names: Sequence[str]) -> list[str]:
    """False sentences that leave as cited, and questions about nothing in the corpus that are answered all the same."""
    found = of_each(record.results["systems"], names)

    def share(sort: str) -> list[float | None]:
        counts = [each and each["outcomes"][sort] for each in found]
        return [each and 100 * each[0] / each[1] for each in counts]

    return [
        row("false sentences of a model that leave as cited", share("faults"), 0, unit=" %"),
        row(
            "questions that the corpus says nothing about and that are answered",
            share("out of the corpus"),
            0,
            unit=" %",
        ),
    ]


def cold_start_rows(record: BenchmarkRecord, names: Sequence[str]) -> list[str]:
    """The function that answers: seconds of processor time until its first call could begin, and its size unzipped."""
    functions: Mapping[str, Any] = record.results["functions"]
    kinds = {name: name.lower().replace("llamaindex", "llama_index") for name in names}

    def figure(name: str, key: str) -> float | None:
        rows = [each for called, each in functions.items() if each["job"] == "answer" and matches(called, each, name)]
        return min((each[key] for each in rows), default=None)

    def matches(called: str, each: Mapping[str, Any], name: str) -> bool:
        if name == OWN:
            return bool(each["ours"])
        return not each["ours"] and called.lower().replace(" ", "_").startswith((kinds[name], name.lower()))

    seconds = [figure(name, "ready_cpu_s") for name in (OWN, *names)]
    sizes = [figure(name, "size_bytes") for name in (OWN, *names)]
    megabytes = [size and size / 1e6 for size in sizes]
    return [
        row("cold start of a function that answers: processor time, s", seconds, 2),
        row("its size unzipped, MB", megabytes, 0),
    ]


def comparison_table(stored: Mapping[str, BenchmarkRecord]) -> str:
    """A column for each, a row for each thing that a record has measured; the best of a row stands in bold."""
    names = list(NAMES.values())
    collections = [name for name in QUALITY if name in stored]
    rows = quality_rows({name: stored[name] for name in collections}) if collections else []
    rows += speed_rows(stored["peers_speed"]) if "peers_speed" in stored else []
    rows += [line for name, rows_of in ROWS.items() if name in stored for line in rows_of(stored[name], names)]
    head = f"| | ragdrop | {' | '.join(NAMES.values())} |"
    return "\n".join([head, "|---|" + "---|" * (len(NAMES) + 1), *rows])


def quality_rows(stored: Mapping[str, BenchmarkRecord]) -> list[str]:
    """Mean nDCG@10 over the collections, as recommended and with the best configuration that was tried."""

    def mean(contender: str) -> float:
        return fmean(record.results["contenders"][contender]["ndcg_at_10"] for record in stored.values())

    *others, last = [name.removeprefix("peers_quality_") for name in stored]
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
    for callers, present in size["callers"].items():
        others = [title(name, each[0]) for name, each in CONFIGURATIONS.items()]
        ours = [OWN_SPEED, *others]
        who = "one caller" if callers == "1" else f"{callers} callers"
        what = f"a question over {size['chunks']:,} chunks, {who}"
        found.append(row(f"{what}: p50, ms", [_of(present, name, "p50_ms") for name in ours], 1))
        if OWN_BUCKET_TITLE in present:
            bucket = [_of(present, name, "p50_ms") for name in (OWN_BUCKET_TITLE, *others)]
            found.append(row("the same, ragdrop with its bucket index", bucket, 1))
        whole = [cpu_of_all(present[name]) if name in present else None for name in ours]
        if not any(whole):
            found.append(row(f"{what}: CPU of the caller, ms", [_of(present, name, "cpu_ms") for name in ours], 1))
        elif callers == "1":
            found.append(row(f"{what}: CPU of caller, node and embedding server, ms", whole, 1))
    return found


def _of(present: Mapping[str, Mapping[str, float]], name: str, figure: str) -> float | None:
    return present[name][figure] if name in present else None


def goals_table(stored: Mapping[str, BenchmarkRecord]) -> str:
    """A row a goal of which there is a record; what misses stands in bold."""
    rows = [row for name, rows_of in GOALS.items() if name in stored for row in rows_of(stored[name].results)]
    lines = [f"| {goal} | {seen if met else f'**{seen}**'} | {'yes' if met else 'no'} |" for goal, seen, met in rows]
    table = "\n".join(["| goal | seen | met |", "|---|---|---|", *lines])
    return f"{table}\n\n{of_one_run(stored)}" if "bench" in stored else table


def of_one_run(stored: Mapping[str, BenchmarkRecord]) -> str:
    """Which of the records above come from the last whole run, and whether one command made it."""
    bench = stored["bench"]
    commands, minutes = bench.results["commands"], bench.results["minutes"]
    used = [name for name in GOALS if name in stored]
    same = {name for name in used if name in bench.results["records"] and stored[name].commit == bench.commit}
    how = "one `make bench`" if commands == 1 else f"a `make bench` that was resumed ({commands} commands)"
    others_of = [f"{name} ({stored[name].date}, {stored[name].commit})" for name in used if name not in same]
    rest = f"; not from it: {', '.join(others_of)}" if others_of else ""
    return (
        f"{len(same)} of {len(used)} records come from {how} of {minutes:.0f} minutes, {bench.date}, "
        f"commit {bench.commit}{rest}."
    )


def speed_goals(found: Any) -> list[Row]:
    """Beside its own raw calls and beside every framework, one caller, the smallest size measured."""
    present = found[0]["callers"]["1"]
    own = present[OWN_SPEED]
    titles = [title(name, each[0]) for name, each in CONFIGURATIONS.items()]
    theirs = {called: present[called] for called in titles if called in present}
    ratio = own["p50_ms"] / present[RAW_CALLS]["p50_ms"]
    rows = [(f"search p50 at most {FLOOR} x its raw calls", f"{ratio:.2f} x", ratio <= FLOOR)]
    for figure, what in (("p50_ms", "p50"), ("cpu_ms", "processor time")):
        name = min(theirs, key=lambda one: theirs[one][figure])
        seen = f"{own[figure]:.1f} ms; {name}: {theirs[name][figure]:.1f} ms"
        rows.append((f"search {what} lower than every framework's", seen, own[figure] <= theirs[name][figure]))
    own_ms = own["cpu_ms"] - present[RAW_CALLS]["cpu_ms"]
    rows.append((f"own processor time a search at most {OWN_CPU_MS:.0f} ms", f"{own_ms:.1f} ms", own_ms <= OWN_CPU_MS))
    if OWN_BUCKET_TITLE in present and IN_PROCESS in present:
        bucket_ms, other_ms = (present[one]["p50_ms"] for one in (OWN_BUCKET_TITLE, IN_PROCESS))
        seen = f"{bucket_ms:.1f} ms; {IN_PROCESS}: {other_ms:.1f} ms"
        rows.append(("search p50 with the bucket index lower than txtai's in process", seen, bucket_ms <= other_ms))
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
    alone = {name: row["alone"] for name, row in found["functions"].items() if row["ours"]}
    seen = ", ".join(f"{name.removeprefix('ragdrop ')} {ratio:.2f}" for name, ratio in alone.items())
    rows.append((f"imports at most {ALONE_BUDGET} x their packages'", seen, max(alone.values()) <= ALONE_BUDGET))
    return rows


def ingest_goals(found: Any) -> list[Row]:
    own = found["systems"][OWN]
    ratio, times = own["first"]["wall_s"] / own["first"]["busy_s"], own["first"]["wall_s"] / own["unchanged"]["wall_s"]
    return [
        (f"ingest within {INGEST} x of embedding alone", f"{ratio:.2f} x", ratio <= INGEST),
        (f"a second, unchanged run over {UNCHANGED} x faster", f"{times:,.0f} x", times > UNCHANGED),
    ]


def push_goals(found: Any) -> list[Row]:
    """The first push to a local stack beside the embedding of its chunks alone."""
    ratio = ratio_of(found["rounds"][0])
    what = f"push of the sample vault to a local stack within {PUSH} x of embedding alone"
    return [(what, f"{ratio:.2f} x", ratio <= PUSH)]


def growth_goals(found: Any) -> list[Row]:
    """The budgets of growth over OpenSearch, and the goal for other tenants, which is lower than their budget."""
    short = missed_growth(found)
    rows = [("growth with the chunks and with other tenants within budget", "; ".join(short) or "within", not short)]
    ratio = others(found.get("opensearch-tenants", {})).get(TENANTS)
    if ratio is not None:
        what = f"search p50 with {TENANTS} tenants at most {TENANTS_GOAL} x that of one alone"
        rows.append((what, f"{ratio:.2f} x", ratio <= TENANTS_GOAL))
    return rows


def adapter_goals(found: Any) -> list[Row]:
    """The row of the adapter's table for large tenants that share an index."""
    [(what, ratio)] = [(cells[0], float(cells[2])) for cells in found[0]["rows"] if "other tenants" in cells[0]]
    return [(f"{what}, at most {SHARED_GOAL:.2f} x", f"{ratio:.2f} x", ratio <= SHARED_GOAL)]


def cost_goals(found: Any) -> list[Row]:
    """What a search asks of the tables whose environment knows tenant, documents and names, 10 s after another."""
    units = {index: each["search, steady"].read_units for index, each in read(found).items()}
    seen = ", ".join(f"{index} {asked:g}" for index, asked in units.items())
    return [(f"at most {READS} read units a search, steady", seen, max(units.values()) <= READS)]


def scale_goals(found: Any) -> list[Row]:
    usd = next(iter(found["months"].values()))["tables"]
    return [(f"tables of the scale plan under {TABLES_USD:,} USD a month", f"{usd:,.0f} USD", usd < TABLES_USD)]


def load_goals(found: Any) -> list[Row]:
    """The load of different questions; a record whose answers came from the functions' caches shows nothing."""
    if found["cached"]:
        return []
    budget = f"p95 under {P95_MS:.0f} ms, p99 under {P99_MS:.0f} ms"
    pause = f", a pause of {found['pause_s']:g} s" if "pause_s" in found else ""
    phases = [(f"{budget}: {found['users']} users{pause}, all questions different, bucket index", found)]
    if spike := found.get("spike"):
        phases.append((f"{budget}: a spike to {spike['users']} users for {spike['seconds']:g} s", spike))
    return [
        (
            goal,
            f"{each['p95_ms']:.0f} ms and {each['p99_ms']:.0f} ms at {each['a_second']:.1f} a second",
            each["p95_ms"] < P95_MS and each["p99_ms"] < P99_MS,
        )
        for goal, each in phases
    ]


def served_goals(found: Any) -> list[Row]:
    """The slower of ragdrop's two indexes beside the faster of the frameworks behind their servers."""
    (own, rate), (other, best) = slowest_own_and_best_other(found)
    seen = f"{own}: {rate:.0f}; {other}: {best:.0f}"
    return [("searches a second a core at least those of the served frameworks", seen, rate >= best)]


ROWS: Mapping[str, Callable[[BenchmarkRecord, Sequence[str]], list[str]]] = {
    "change": change_rows,
    "peers_ingest": ingest_rows,
    "peers_answers": answer_rows,
    "cold_start": cold_start_rows,
}
"""By record the rows that it gives."""
GOALS: Mapping[str, Callable[[Any], list[Row]]] = {
    "peers_speed": speed_goals,
    "peers_quality_cranfield": quality_goals,
    "peers_quality_hotpotqa-500": quality_goals,
    "peers_quality_scifact": quality_goals,
    "change": change_goals,
    "cold_start": cold_start_goals,
    "peers_ingest": ingest_goals,
    "push": push_goals,
    "growth": growth_goals,
    "opensearch_adapter": adapter_goals,
    "cost": cost_goals,
    "scale": scale_goals,
    "load": load_goals,
    "served": served_goals,
}
"""By record the goals that it shows."""
