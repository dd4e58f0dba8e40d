"""What ragdrop's search gives for the questions of the three collections: `python -m models.reader.candidates TARGET`.

Needs RAGDROP_EVAL_DATA.  Each question gets its first 30 documents with the text of the best chunk and its score.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from benchmarks.collections import RETRIEVAL, load, needed_data
from benchmarks.embeddings import LocalEmbeddings
from benchmarks.pipeline import pushed, soon
from ragdrop.domain.retrieval import Query

RERANKED = 30


def main() -> None:
    folder = needed_data("candidates")
    found = {}
    with LocalEmbeddings() as model:
        for name in RETRIEVAL:
            collection = load(folder / name)
            questions = []
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
                    documents = place.app.query.uncached_search(query, place.caller, soon()).documents
                    listed = [
                        {
                            "id": each.key.path.removesuffix(".md"),
                            "score": each.raw_score,
                            "texts": [part.hit.chunk.text for part in each.chunks],
                            "title": each.facts.title,
                        }
                        for each in documents
                    ]
                    questions.append({"question": question, "relevant": collection.relevant[id_], "found": listed})
            found[name] = questions
            print(name, len(questions), file=sys.stderr, flush=True)
    Path(sys.argv[1]).write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()
