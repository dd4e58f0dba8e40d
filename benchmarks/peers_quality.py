"""Retrieval quality beside other frameworks: the same documents, questions, embedding model and OpenSearch node.

    RAGDROP_EVAL_DATA=… python -m benchmarks.peers_quality [--write] [--quick] [--collection NAME ...]

`make bench-env` installs the frameworks.  Each splits the documents its own way, so the first run embeds some 30,000
texts (half an hour of processor time); vectors are stored under RAGDROP_BENCH_CACHE.  `--quick` takes 30 questions and
200 documents of Cranfield.  `--write` keeps the record; `python -m benchmarks.report --write` makes the tables.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any

from benchmarks import records
from benchmarks.collections import RETRIEVAL, Collection, load, needed_data
from benchmarks.embeddings import LocalEmbeddings, embedding_server
from benchmarks.peers.process import CONFIGURATIONS, running, shared_node, title
from benchmarks.pipeline import pushed
from benchmarks.quality import p_value
from benchmarks.records import BenchmarkRecord
from localstack.opensearch.assembly import HYBRID_RELEASE, RELEASES
from ragdrop import __version__
from ragdrop.operate.evaluation import mean, ndcg, recall
from ragdrop.resilience.breakers import Retries
from ragdrop_opensearch.engine import OpenSearchChunkIndex

CHANCE = 0.05
LIMIT = 10
OWN = ("ragdrop, bucket index", "ragdrop, OpenSearch")
QUICK_QUESTIONS, QUICK_DOCUMENTS = 30, 200
Scores = list[tuple[float, float, float]]
"""nDCG@10, recall@5 and recall@10 of every question."""


def quality_table(stored: Iterable[BenchmarkRecord]) -> str:
    """A row a contender: nDCG@10, recall@5 and recall@10 of each collection; the best nDCG@10 stands in bold."""
    collections: dict[str, Any] = {record.results["collection"]: record.results for record in stored}
    heads = [f"{name} ({each['documents']:,}, {each['questions']})" for name, each in collections.items()]
    lines = [f"| | {' | '.join(heads)} | mean nDCG@10 |", "|---|" + "---|" * (len(heads) + 1)]
    contenders = list(next(iter(collections.values()))["contenders"])
    best = {
        name: max(f"{present['ndcg_at_10']:.4f}" for present in each["contenders"].values())
        for name, each in collections.items()
    }
    for contender in contenders:
        rows = {name: each["contenders"][contender] for name, each in collections.items()}
        mean = sum(row["ndcg_at_10"] for row in rows.values()) / len(rows)
        cells = [_cell(row, best[name]) for name, row in rows.items()]
        lines.append(f"| {contender} | {' | '.join(cells)} | {mean:.4f} |")
    return "\n".join(lines)


def settings_table(stored: Iterable[BenchmarkRecord]) -> str:
    """What each framework was set up with, in its own terms, and how many chunks it made."""
    collections = [record.results for record in stored]
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


def subset(collection: Collection, questions: int, documents: int) -> Collection:
    """The first *questions*, all documents that are relevant to them, and others up to *documents*."""
    stored = dict(list(collection.questions.items())[:questions])
    relevant = {id_: collection.relevant[id_] for id_ in stored}
    needed = {name for each in relevant.values() for name in each}
    room = max(0, documents - len(needed))
    others = [source.id for source in collection.documents if source.id not in needed][:room]
    required = needed.union(others)
    sources = [source for source in collection.documents if source.id in required]
    return Collection(collection.name, sources, stored, relevant, {id_: collection.answers[id_] for id_ in stored})


def scores(collection: Collection, found: Mapping[str, list[str]]) -> Scores:
    graded = [(ids, collection.relevant[id_]) for id_, ids in found.items()]
    return [(ndcg(ids, present), recall(ids, present, at=5), recall(ids, present)) for ids, present in graded]


def own(collection: Collection, model: LocalEmbeddings, url: str) -> dict[str, Scores]:
    measured = {}
    for name, index in zip(OWN, (None, OpenSearchChunkIndex.from_url(url, shards=1, retries=Retries())), strict=True):
        with pushed(collection, model, index=index) as place:
            found = {id_: place.search(question, LIMIT) for id_, question in collection.questions.items()}
        measured[name] = scores(collection, found)
    return measured


def others(collection: Collection, node: str, embeddings: str, reported: dict[str, Any]) -> dict[str, Scores]:
    """Every configuration of every framework; *reported* receives what each says of itself."""
    documents = [{"id": each.id, "title": each.title, "text": each.markdown.strip()} for each in collection.documents]
    questions = list(collection.questions.values())
    measured = {}
    for name, configurations in CONFIGURATIONS.items():
        with running(name, opensearch_url=node, embedding_url=embeddings, label=collection.name) as contender:
            chunks = None
            for configuration in configurations:
                called = title(name, configuration)
                reported[called] = contender.switch(configuration)
                if chunks is None or not reported[called]["shared"]:
                    chunks = contender.peer.ask("add", documents=documents, timeout_s=3_600)["chunks"]
                found = contender.peer.ask("search", queries=questions, limit=LIMIT, timeout_s=3_600)["results"]
                reported[called]["chunks"] = chunks
                measured[called] = scores(collection, dict(zip(collection.questions, found, strict=True)))
                print(f"{collection.name}: {called} measured", file=sys.stderr, flush=True)
    return measured


def summary(measured: Mapping[str, Scores]) -> dict[str, dict[str, float]]:
    """Means by contender, and how likely chance makes its difference in nDCG@10 from ragdrop's default."""
    default = [row[0] for row in measured[OWN[0]]]
    present = {}
    for name, rows in measured.items():
        gain, five, ten = (mean([row[place] for row in rows]) for place in range(3))
        likely = 1.0 if name == OWN[0] else p_value([row[0] for row in rows], default)
        present[name] = {"ndcg_at_10": gain, "recall_at_5": five, "recall_at_10": ten, "p": likely}
    return present


def main() -> int:
    parser = records.parser(__doc__, quick="a part of one collection")
    parser.add_argument("--collection", action="append", choices=RETRIEVAL, help="only this one; default: all")
    options = parser.parse_args()
    folder = needed_data("peers_quality")
    stored: dict[str, records.BenchmarkRecord] = {}
    with LocalEmbeddings() as model, shared_node() as node, embedding_server() as embeddings:
        for name in options.collection or (["cranfield"] if options.quick else RETRIEVAL):
            collection = load(folder / name)
            if options.quick:
                collection = subset(collection, QUICK_QUESTIONS, QUICK_DOCUMENTS)
            reported: dict[str, Any] = {}
            theirs = others(collection, node, embeddings, reported)
            measured = own(collection, model, node) | theirs
            results, versions = record(collection, summary(measured), reported)
            written = records.keep if options.write else records.made
            stored[name] = written(f"peers_quality_{name}", results, versions, quick=options.quick)
    print(quality_table(stored.values()))
    return 0


def record(
    collection: Collection, contenders: Any, reported: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, str]]:
    """What is stored of one collection, and the versions of what was compared."""
    versions = {"ragdrop": __version__, "OpenSearch": RELEASES[HYBRID_RELEASE].version}
    versions |= {name: number for each in reported.values() for name, number in each["versions"].items()}
    return {
        "collection": collection.name,
        "documents": len(collection.documents),
        "questions": len(collection.questions),
        "contenders": contenders,
        "settings": {name: each["settings"] for name, each in reported.items()},
        "chunks": {name: each["chunks"] for name, each in reported.items()},
    }, versions


if __name__ == "__main__":
    sys.exit(main())
