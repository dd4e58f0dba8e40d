"""What ragdrop's search gives for questions of three collections and in users' own words.

`python -m models.reader.candidates TARGET` needs RAGDROP_EVAL_DATA.  Each question gets its first 30 documents, each
with its best chunk and its score.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.collections import RETRIEVAL, Collection, load, needed_data
from benchmarks.embeddings import LocalEmbeddings
from benchmarks.own_words import VAULTS, documents_of, folder_of, questions_of
from benchmarks.pipeline import pushed, soon
from ragdrop.domain.retrieval import Query

RERANKED = 30


def asked(folder: Path) -> Iterator[tuple[str, Collection]]:
    """Each collection with the name of the row that its questions count for."""
    for name in RETRIEVAL:
        yield name, load(folder / name)
    for vault in VAULTS:
        place = folder_of(vault)
        if place is None:
            continue
        for half, final in (("own words, tuning", False), ("own words, final", True)):
            questions = questions_of(vault, "own", final=final)
            texts = {str(number): each.text for number, each in enumerate(questions)}
            relevant = {str(number): dict.fromkeys(each.right, 1.0) for number, each in enumerate(questions)}
            yield half, Collection(vault, documents_of(place), texts, relevant, {})


def found(collection: Collection, model: LocalEmbeddings) -> Iterator[Mapping[str, Any]]:
    """What the search gives for each question of *collection*."""
    with pushed(collection, model) as place:
        for id_, question in collection.questions.items():
            query = Query(
                question,
                limit=RERANKED,
                min_relevance=0.0,
                include_critical=False,
                follow_links=False,
                apply_boosting=False,
                expand="neighbours",
            )
            listed = [
                {
                    "id": each.key.path
                    if each.key.path in collection.relevant[id_]
                    else each.key.path.removesuffix(".md"),
                    "score": each.raw_score,
                    "texts": [part.hit.chunk.text for part in each.chunks],
                    "title": each.facts.title,
                }
                for each in place.app.query.uncached_search(query, place.caller, soon()).documents
            ]
            yield {"question": question, "relevant": collection.relevant[id_], "found": listed}


def main() -> None:
    made: dict[str, list[Mapping[str, Any]]] = {}
    with LocalEmbeddings() as model:
        for name, collection in asked(needed_data("candidates")):
            made.setdefault(name, []).extend(found(collection, model))
            print(name, len(made[name]), file=sys.stderr, flush=True)
    Path(sys.argv[1]).write_text(json.dumps(made), encoding="utf-8")


if __name__ == "__main__":
    main()
