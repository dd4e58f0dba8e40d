"""Retrieval quality: nDCG@10 and recall of ragdrop's search and of its two parts, on public collections.

    RAGDROP_EVAL_DATA=… python -m benchmarks.quality [--write] [--collection NAME ...]

Documents go through real ingest into the bucket index and are ranked by their best chunk.  The first run embeds 15,000
chunks, about ten CPU minutes; vectors are stored under RAGDROP_BENCH_CACHE (default `.local/bench`).
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable, Mapping, Sequence

from benchmarks import records
from benchmarks.collections import RETRIEVAL, Collection, load, needed_data
from benchmarks.embeddings import LocalEmbeddings
from benchmarks.pipeline import pushed
from benchmarks.records import Grid, publish
from ragdrop.domain.chunks import Candidates
from ragdrop.domain.retrieval import candidate_limit
from ragdrop.operate.evaluation import mean, ndcg, recall
from ragdrop.query.fusion import Fused, Fusion, fuse

ROUNDS = 2_000
SEED = 1
Ranking = Callable[[Candidates], list[str]]
"""Document ids, best first, of the candidates for a question."""
LIMIT = 10
FLOORS = {"scifact": 0.725, "cranfield": 0.41, "hotpotqa-500": 0.845}  # nDCG@10 that the default must reach
Measured = dict[str, list[tuple[float, float, float]]]
"""By ranking: nDCG@10, recall@5 and recall@10 of every question."""


def p_value(one: Sequence[float], other: Sequence[float]) -> float:
    """How often a difference of means this large comes by chance, in (0, 1]; the pairs are of the same questions.

    References:
        Smucker, Allan, Carterette, "A Comparison of Statistical Significance Tests for Information Retrieval
        Evaluation", CIKM 2007.

    >>> p_value([1.0, 0.5], [1.0, 0.5])
    1.0
    """
    differences = [left - right for left, right in zip(one, other, strict=True) if left != right]
    seen = abs(math.fsum(differences))
    source = random.Random(SEED)
    count = 1
    for _ in range(ROUNDS):
        bits = source.getrandbits(max(len(differences), 1))
        total = sum(value if bits >> place & 1 else -value for place, value in enumerate(differences))
        count += abs(total) >= seen - 1e-12
    return count / (ROUNDS + 1)


def rankings() -> dict[str, Ranking]:
    """The rankings beside the default by name: each of its two parts alone."""
    alone = Fusion(heading_bonus=0.0)
    return {
        "vector alone": lambda found: _ids(fuse(found.vector, [], alone)),
        "lexical alone": lambda found: _ids(fuse([], found.lexical, alone)),
    }


def _ids(fused: Sequence[Fused]) -> list[str]:
    return list(dict.fromkeys(each.hit.key.path.removesuffix(".md") for each in fused))


def measure(collection: Collection, model: LocalEmbeddings) -> Measured:
    ways = rankings()
    measured: Measured = {name: [] for name in ("default", *ways)}
    with pushed(collection, model) as place:
        for id_, question in collection.questions.items():
            found = place.candidates(question, candidate_limit(LIMIT))
            relevant = collection.relevant[id_]
            ranked = {name: way(found) for name, way in ways.items()}
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
    """Where the default is under its floor, or not above one of its parts."""
    found = []
    for name, measured in results.items():
        gains = {way: mean([row[0] for row in measured[way]]) for way in ("default", "vector alone", "lexical alone")}
        needed = max(FLOORS.get(name, 0.0), gains["vector alone"], gains["lexical alone"])
        if gains["default"] < needed:
            found.append(f"{name}: nDCG@10 of the default is {gains['default']:.4f}, it should be {needed:.4f}")
    return found


def main() -> int:
    """Measure and print; 1 where the default falls short, nothing to do without the data."""
    parser = records.parser(__doc__)
    parser.add_argument("--collection", action="append", choices=RETRIEVAL, help="only this one; default: all")
    options = parser.parse_args()
    if options.write and options.collection:
        parser.error("a record is of the whole: --write goes without --collection")
    folder = needed_data("quality")
    results: dict[str, Measured] = {}
    with LocalEmbeddings() as model:
        for name in options.collection or RETRIEVAL:
            results[name] = measure(load(folder / name), model)
            print(f"{name}: measured", file=sys.stderr, flush=True)
    publish("quality", [table(results)], "tantivy", "simsimd", write=options.write)
    missed = shortfalls(results)
    for line in missed:
        print(line, file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
