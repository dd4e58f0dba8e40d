"""Rows of the README's table that come of records of their own, one function a record; they differ in shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks.load.figures import P95_MS, P99_MS
from benchmarks.records import BenchmarkRecord

OWN = "ragdrop"
NOTHING = "not measured"


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
    """What *systems* hold of ragdrop and of each framework: the first that is called so; None where there is none.

    >>> of_each({"ragdrop": 1, "LangChain, hybrid": 2, "LangChain, vector": 3}, ["LangChain", "txtai"])
    [1, 2, None]
    """
    return [
        next((held for called, held in systems.items() if called.partition(",")[0] == name), None)
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


def pace_rows(record: BenchmarkRecord, names: Sequence[str]) -> list[str]:
    """A load of ragdrop at the specified pace, through gateway and emulator; no row for a record at another pace."""
    found = record.results
    if "pause_s" not in found:
        return []
    what = f"{found['users']} users with a pause of {found['pause_s']:g} s, all questions different"
    others: list[float | None] = [None] * len(names)
    return [
        row(f"{what}: p95, ms (under {P95_MS:.0f})", [found["p95_ms"], *others], 0),
        row(f"the same: p99, ms (under {P99_MS:.0f})", [found["p99_ms"], *others], 0),
    ]


ROWS: Mapping[str, Callable[[BenchmarkRecord, Sequence[str]], list[str]]] = {
    "change": change_rows,
    "peers_ingest": ingest_rows,
    "peers_answers": answer_rows,
    "cold_start": cold_start_rows,
    "load": pace_rows,
}
"""By record the rows that it gives."""
