"""The README's table puts ragdrop and the frameworks side by side, from whatever records there are."""

from __future__ import annotations

from typing import Any

from benchmarks.comparison import QUALITY, answer_rows, change_rows, cold_start_rows, comparison_table, ingest_rows
from benchmarks.peers.process import CONFIGURATIONS, NAMES, title
from benchmarks.records import BenchmarkRecord

MACHINE = {"cores": 2, "memory_gb": 24, "processor": "X"}
TITLES = [title(name, each) for name, configurations in CONFIGURATIONS.items() for each in configurations]


def record(name: str, results: Any) -> BenchmarkRecord:
    return BenchmarkRecord(name, "2026-01-01", "abcdefg", MACHINE, {"a": "1"}, results)


def stored() -> dict[str, BenchmarkRecord]:
    quality = {name: {"ndcg_at_10": 0.5} for name in TITLES} | {"ragdrop, OpenSearch": {"ndcg_at_10": 0.6}}
    quality["Haystack, hybrid-dbsf"] = {"ndcg_at_10": 0.7}
    speed = {name: {"p50_ms": 20.0, "cpu_ms": 9.0} for name in ("ragdrop, in process", *TITLES)}
    sizes = [{"chunks": 2_000, "callers": {"1": speed, "8": speed}}]
    return {name: record(name, {"contenders": quality}) for name in QUALITY} | {
        "peers_speed": record("peers_speed", sizes)
    }


def test_a_better_number_of_a_framework_stands_in_bold() -> None:
    lines = comparison_table(stored()).splitlines()

    assert lines[0] == f"| | ragdrop | {' | '.join(NAMES.values())} |"
    assert lines[2].endswith("| **0.6000** | 0.5000 | 0.5000 | 0.5000 | 0.5000 |")
    assert lines[3].endswith("| 0.6000 | 0.5000 | 0.5000 | **0.7000** | 0.5000 |")
    assert len(lines) == 8


def test_what_other_benchmarks_stored_comes_in_its_own_rows() -> None:
    counts = {"counts": [{"stale": 1, "double": 2, "missing": 3}]}
    none = {"counts": [{"stale": 0, "double": 0, "missing": 0}]}
    systems = {"ragdrop": none, "LangChain, hybrid": counts, "LangChain, vector": none}
    more = stored() | {"change": record("change", {"systems": systems})}

    assert (
        comparison_table(more).splitlines()[-1].endswith("| **0** | 6 | not measured | not measured | not measured |")
    )
    assert change_rows(more["change"], ["LangChain"])[0].endswith("| **0** | 6 |")


def test_ingest_is_reported_beside_embedding_and_the_second_run_beside_the_first() -> None:
    own = {"first": {"wall_s": 12.0, "busy_s": 10.0}, "unchanged": {"wall_s": 0.1}}
    other = {"first": {"wall_s": 11.0, "busy_s": 10.0}, "unchanged": {"wall_s": 1.1}}
    present = record("peers_ingest", {"systems": {"ragdrop": own, "txtai, hybrid": other}})

    first, again = ingest_rows(present, ["txtai"])

    assert first.endswith("| 1.20 | **1.10** |")
    assert again.endswith("| **120** | 10 |")


def test_answers_are_reported_as_shares_of_false_sentences_and_of_questions_about_nothing() -> None:
    own = {"outcomes": {"faults": [1, 20], "out of the corpus": [0, 10]}}
    other = {"outcomes": {"faults": [20, 20], "out of the corpus": [5, 10]}}
    present = record("peers_answers", {"systems": {"ragdrop": own, "Haystack": other}})

    false, about_nothing = answer_rows(present, ["Haystack"])

    assert false.endswith("| **5 %** | 100 % |")
    assert about_nothing.endswith("| **0 %** | 50 % |")


def test_cold_starts_are_reported_of_the_functions_that_answer() -> None:
    functions = {
        "query": {"ours": True, "job": "answer", "ready_cpu_s": 0.5, "size_bytes": 40e6},
        "sweep": {"ours": True, "job": None, "ready_cpu_s": 0.1, "size_bytes": 4e6},
        "llama_index answer": {"ours": False, "job": "answer", "ready_cpu_s": 2.0, "size_bytes": 150e6},
    }
    present = record("cold_start", {"functions": functions})

    seconds, sizes = cold_start_rows(present, ["LlamaIndex", "txtai"])

    assert seconds.endswith("| **0.50** | 2.00 | not measured |")
    assert sizes.endswith("| **40** | 150 | not measured |")
