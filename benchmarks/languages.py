"""Questions in six languages: how many find nothing, how many that nothing answers find something, and the ranking.

    RAGDROP_EVAL_DATA=… python -m benchmarks.languages [--final] [--write] [--language CODE ...]

XQuAD: the same paragraphs and questions in each language, through real ingest and search with the reader, all settings
at their defaults.  Foreign questions are those of articles that are left out.  Questions of paragraphs with even
numbers are for tuning, the others for the final table (`--final`).  Plain BM25 ranks whole paragraphs by their words as
they are written, scripts without blanks by pairs of signs.
"""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from benchmarks import records
from benchmarks.collections import Collection, CollectionDocument, load, needed_data
from benchmarks.embeddings import LocalEmbeddings
from benchmarks.pipeline import pushed, soon
from benchmarks.records import Grid, publish
from ragdrop.domain.languages import segmented
from ragdrop.domain.retrieval import Query
from ragdrop.operate.evaluation import mean, ndcg

LANGUAGES = ("en", "de", "es", "ru", "ar", "zh")
FOREIGN_FROM = "p060"  # an article is never cut in two
K1, B = 1.2, 0.75
COLUMNS = ("language", "questions", "refused", "foreign that find something", "nDCG@10", "nDCG@10 of plain BM25")


def plain_words(text: str) -> list[str]:
    return re.findall(r"\w+", segmented(text).casefold())


class PlainBm25:
    """BM25 over whole documents.

    References:
        Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009.
    """

    def __init__(self, documents: Sequence[CollectionDocument]) -> None:
        self._counts = {each.id: Counter(plain_words(each.text)) for each in documents}
        self._containing = Counter(word for words in self._counts.values() for word in words)
        self._mean_length = mean([float(words.total()) for words in self._counts.values()])

    def best(self, question: str, limit: int = 10) -> list[str]:
        asked = dict.fromkeys(plain_words(question))
        scores = {id_: self._score(words, asked) for id_, words in self._counts.items()}
        return [id_ for id_ in sorted(scores, key=lambda id_: -scores[id_]) if scores[id_] > 0][:limit]

    def _score(self, words: Counter[str], asked: Iterable[str]) -> float:
        norm = K1 * (1 - B + B * words.total() / self._mean_length)
        return math.fsum(self._rarity(word) * words[word] * (K1 + 1) / (words[word] + norm) for word in asked)

    def _rarity(self, word: str) -> float:
        having = self._containing[word]
        return math.log(1 + (len(self._counts) - having + 0.5) / (having + 0.5))


def half_of(collection: Collection, *, final: bool, foreign: bool) -> dict[str, str]:
    """Half of the questions, by the number of their paragraph; only those of the last articles if *foreign*."""
    chosen = {}
    for id_, question in collection.questions.items():
        paragraph = next(iter(collection.relevant[id_]))
        if int(paragraph[1:]) % 2 == final and (not foreign or paragraph >= FOREIGN_FROM):
            chosen[id_] = question
    return chosen


def measure(collection: Collection, model: LocalEmbeddings, *, final: bool) -> list[str]:
    asked = half_of(collection, final=final, foreign=False)
    plain = PlainBm25(collection.documents)
    by_plain = [ndcg(plain.best(question), collection.relevant[id_]) for id_, question in asked.items()]
    with pushed(replace(collection, questions=asked), model) as place:
        place.app.ports.reader = model.reader
        refused = sum(
            place.app.query.uncached_search(Query(text), place.caller, soon()).abstained for text in asked.values()
        )
        ranked = [ndcg(place.search(question, 10), collection.relevant[id_]) for id_, question in asked.items()]
    foreign = half_of(collection, final=final, foreign=True)
    known = [each for each in collection.documents if each.id < FOREIGN_FROM]
    with pushed(replace(collection, documents=known, questions=foreign), model) as place:
        place.app.ports.reader = model.reader
        found = sum(
            not place.app.query.uncached_search(Query(text), place.caller, soon()).abstained
            for text in foreign.values()
        )
    return [
        collection.name,
        str(len(asked)),
        str(refused),
        f"{found} of {len(foreign)}",
        f"{mean(ranked):.3f}",
        f"{mean(by_plain):.3f}",
    ]


def main() -> int:
    parser = records.parser(__doc__)
    parser.add_argument("--final", action="store_true", help="the half that nothing was tuned on")
    parser.add_argument("--language", action="append", choices=LANGUAGES, help="only this one; default: all")
    options = parser.parse_args()
    if options.write and options.language:
        parser.error("a record is of the whole: --write goes without --language")
    folder = needed_data("languages") / "xquad-80"
    rows = []
    with LocalEmbeddings() as model:
        for language in options.language or LANGUAGES:
            rows.append(measure(load(folder / language), model, final=options.final))
            print(" ".join(rows[-1]), file=sys.stderr, flush=True)
    half = "final" if options.final else "tuning"
    publish(f"languages_{half}", [Grid(COLUMNS, rows, f"The {half} half.")], "tantivy", write=options.write)
    return 0


if __name__ == "__main__":
    sys.exit(main())
