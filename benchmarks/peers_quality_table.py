"""The tables of retrieval quality beside other frameworks, made from the records of benchmarks/peers_quality.py."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from benchmarks.records import BenchmarkRecord

CHANCE = 0.05


def quality_table(kept: Iterable[BenchmarkRecord]) -> str:
    """A row a contender: nDCG@10, recall@5 and recall@10 of each collection; the best nDCG@10 stands in bold."""
    collections: dict[str, Any] = {record.results["collection"]: record.results for record in kept}
    heads = [f"{name} ({each['documents']:,}, {each['questions']})" for name, each in collections.items()]
    lines = [f"| | {' | '.join(heads)} | mean nDCG@10 |", "|---|" + "---|" * (len(heads) + 1)]
    contenders = list(next(iter(collections.values()))["contenders"])
    best = {
        name: max(f"{held['ndcg_at_10']:.4f}" for held in each["contenders"].values())
        for name, each in collections.items()
    }
    for contender in contenders:
        rows = {name: each["contenders"][contender] for name, each in collections.items()}
        mean = sum(row["ndcg_at_10"] for row in rows.values()) / len(rows)
        cells = [_cell(row, best[name]) for name, row in rows.items()]
        lines.append(f"| {contender} | {' | '.join(cells)} | {mean:.4f} |")
    return "\n".join(lines)


def settings_table(kept: Iterable[BenchmarkRecord]) -> str:
    """What each framework was set up with, in its own terms, and how many chunks it made."""
    collections = [record.results for record in kept]
    heads = " | ".join(f"chunks, {each['collection']}" for each in collections)
    lines = [f"| | set up with | {heads} |", "|---|---|" + "---|" * len(collections)]
    for name, said in collections[0]["settings"].items():
        counts = " | ".join(f"{each['chunks'][name]:,}" for each in collections)
        lines.append(f"| {name} | {said} | {counts} |")
    return "\n".join(lines)


def _cell(row: Mapping[str, float], best: str) -> str:
    gain = f"{row['ndcg_at_10']:.4f}"
    shown = f"**{gain}**" if gain == best else gain
    return f"{shown}{'*' if row['p'] < CHANCE else ''} · {row['recall_at_5']:.3f} · {row['recall_at_10']:.3f}"
