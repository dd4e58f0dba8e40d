"""Retrieval quality: nDCG@10 and recall of ragdrop's search and of other fusions, on public collections.

    RAGDROP_EVAL_DATA=… python -m benchmarks.quality [--write] [--collection NAME ...]

Documents (title as heading, then text) go through real ingest into the bucket index and are ranked by their best
chunk; `limit` 10, so 30 candidates a retriever; no threshold, boosts, critical documents or links.  Vectors are kept
under RAGDROP_BENCH_CACHE (default `.local/bench`); the first run embeds 15,000 chunks, about ten CPU minutes.
`--write` keeps the record.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping

from benchmarks.collections import RETRIEVAL, Collection, data_folder, load
from benchmarks.grids import Grid, tell
from benchmarks.local_embeddings import LocalEmbeddings
from benchmarks.quality_pipeline import pushed
from benchmarks.quality_rankings import rankings
from benchmarks.significance import p_value
from ragdrop.domain.retrieval import candidate_limit
from ragdrop.operate.evaluation import mean, ndcg, recall

LIMIT = 10
FLOORS = {"scifact": 0.725, "cranfield": 0.41, "hotpotqa-500": 0.845}  # nDCG@10 that the default must reach

Measured = dict[str, list[tuple[float, float, float]]]
"""By ranking: nDCG@10, recall@5 and recall@10 of every question."""


def measure(collection: Collection, model: LocalEmbeddings) -> Measured:
    """Rank the documents for every question in every way."""
    ways = rankings()
    measured: Measured = {name: [] for name in ("default", *ways)}
    with pushed(collection, model) as place:
        for id_, question in collection.questions.items():
            found = place.candidates(question, candidate_limit(LIMIT))
            relevant = collection.relevant[id_]
            ranked = {name: way(found, question) for name, way in ways.items()}
            ranked["default"] = place.search(question, LIMIT)
            for name, ids in ranked.items():
                measured[name].append((ndcg(ids, relevant), recall(ids, relevant, at=5), recall(ids, relevant)))
    return measured


def table(results: Mapping[str, Measured]) -> Grid:
    """A row a ranking; a star where it differs from the default by more than chance (p < 0.05)."""
    names = list(results)
    lines = []
    for way in next(iter(results.values())):
        cells, gains = [], []
        for name in names:
            rows, default = results[name][way], results[name]["default"]
            gain = mean([row[0] for row in rows])
            gains.append(gain)
            sure = way != "default" and p_value([row[0] for row in rows], [row[0] for row in default]) < 0.05
            five, ten = mean([row[1] for row in rows]), mean([row[2] for row in rows])
            cells.append(f"{gain:.4f}{'*' if sure else ''} · {five:.3f} · {ten:.3f}")
        lines.append([way, *cells, f"{mean(gains):.4f}"])
    return Grid(["ranking", *names, "mean nDCG@10"], lines)


def shortfalls(results: Mapping[str, Measured]) -> list[str]:
    """Where the default is under its floor, or not above one of its own parts."""
    found = []
    for name, measured in results.items():
        gains = {way: mean([row[0] for row in measured[way]]) for way in ("default", "vector alone", "lexical alone")}
        needed = max(FLOORS.get(name, 0.0), gains["vector alone"], gains["lexical alone"])
        if gains["default"] < needed:
            found.append(f"{name}: nDCG@10 of the default is {gains['default']:.4f}, it should be {needed:.4f}")
    return found


def main() -> int:
    """Measure and print; 1 where the default falls short, nothing to do without the data."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality")
    parser.add_argument("--write", action="store_true", help="keep the record")
    parser.add_argument("--collection", action="append", choices=RETRIEVAL, help="only this one; default: all")
    options = parser.parse_args()
    if options.write and options.collection:
        parser.error("a record is of the whole: --write goes without --collection")
    folder = data_folder()
    if folder is None:
        print("quality: skipped, RAGDROP_EVAL_DATA is not set")
        return 0
    results: dict[str, Measured] = {}
    with LocalEmbeddings() as model:
        for name in options.collection or RETRIEVAL:
            results[name] = measure(load(folder / name), model)
            print(f"{name}: measured", file=sys.stderr, flush=True)
    tell("quality", [table(results)], "tantivy", "simsimd", write=options.write)
    missed = shortfalls(results)
    for line in missed:
        print(line, file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
