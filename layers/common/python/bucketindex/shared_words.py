"""Words of one part of an index, ranked as in the whole: a word is as rare, and a chunk as long, as it is there."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tantivy import Occur, Query

from bucketindex.lexical import MORE, WORDS, FacetFilter, LexicalSearch

K1, B = 1.2, 0.75  # as tantivy has them
MAX_RESCORED = 1 << 14
ROUNDING = 1e-5  # of scores that tantivy computes in 32 bits
_TERM = re.compile(r'"(.*)"')
_ESCAPED = re.compile(r"\\u\{([0-9a-f]+)\}")


@dataclass(frozen=True, slots=True)
class WordStatistics:
    """What BM25 uses of all chunks: how many there are, how many words they have, and how many have each term."""

    chunks: int
    words: float
    frequencies: Mapping[str, int]

    def rarity(self, term: str) -> float:
        """The inverse document frequency of a term.

        >>> round(WordStatistics(100, 900.0, {"pump": 3}).rarity("pump"), 3)
        3.362
        """
        having = self.frequencies.get(term, 0)
        return math.log(1 + (self.chunks - having + 0.5) / (having + 0.5))

    @property
    def mean_length(self) -> float:
        return self.words / max(1, self.chunks) or 1.0

    def score(self, found: Mapping[str, tuple[float, float]]) -> float:
        """The BM25 score of a chunk that has each of *found* so often, with its length in words."""
        score = 0.0
        for term in sorted(found):  # in one order, so that equal chunks of different parts have equal scores
            often, length = found[term]
            score += self.rarity(term) * (1 + K1) * often / (often + K1 * (1 - B + B * length / self.mean_length))
        return score


def united(parts: Iterable[WordStatistics]) -> WordStatistics:
    """The statistics of several parts together.

    >>> united([WordStatistics(2, 9.0, {"pump": 1}), WordStatistics(1, 3.0, {"pump": 1, "valve": 1})])
    WordStatistics(chunks=3, words=12.0, frequencies={'pump': 2, 'valve': 1})
    """
    chunks, words, frequencies = 0, 0.0, Counter[str]()
    for each in parts:
        chunks += each.chunks
        words += each.words
        frequencies.update(each.frequencies)
    return WordStatistics(chunks, words, dict(frequencies))


class SharedLexicalSearch(LexicalSearch):
    """Searches the folder of a view that may be one part of an index."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._lengths: dict[str, float] = {}

    def statistics(self, terms: Sequence[str], field: str) -> WordStatistics:
        """What this part has of *terms*."""
        frequencies = {term: self._searcher.doc_freq(field, term) for term in terms}
        if field not in self._lengths:
            self._lengths[field] = self._mean_length(field)
        chunks = self._searcher.num_docs
        return WordStatistics(chunks, self._lengths[field] * chunks, frequencies)

    def best(
        self,
        terms: Sequence[str],
        facets: FacetFilter,
        limit: int,
        *,
        field: str = WORDS,
        whole: WordStatistics | None = None,
    ) -> list[tuple[float, int]]:
        """Score and place of the *limit* best chunks and of all that are as good as the last, best first.

        With the statistics of the *whole* index the scores are those of a search of it.  This part ranks by the same
        rarities and by its own mean length, which bounds how far its order can be off: it looks so far down, at 16,384
        chunks or some more at most.
        """
        if whole is None or not self._searcher.num_docs:
            return super().best(terms, facets, limit, field=field)
        own = self.statistics(terms, field)
        factors = {term: whole.rarity(term) / own.rarity(term) for term in terms}
        query = self._within(Query.boolean_query(self._weighted(factors, field)), facets)
        plain = self._query(terms, FacetFilter(), field)
        bound = max(1.0, whole.mean_length / own.mean_length) * (1 + ROUNDING)
        asked, scores = 2 * limit + MORE, dict[tuple[int, int], float]()
        while True:
            hits = self._searcher.search(query, asked, count=False).hits
            for _, address in hits:
                if (key := (address.segment_ord, address.doc)) not in scores:
                    scores[key] = whole.score(self._occurrences(plain, address))
            scored = [(scores[address.segment_ord, address.doc], address) for _, address in hits]
            scored.sort(key=lambda each: -each[0])
            least = scored[limit - 1][0] if len(scored) >= limit else 0.0
            if len(hits) < asked or least > hits[-1][0] * bound or asked >= MAX_RESCORED:
                return self._placed([each for each in scored if each[0] >= least])
            asked *= 4

    def _weighted(self, factors: Mapping[str, float], field: str) -> list[tuple[Occur, Query]]:
        named = ((Query.term_query(self._schema, field, term, "freq"), by) for term, by in factors.items())
        return [(Occur.Should, Query.boost_query(query, by)) for query, by in named]

    def _occurrences(self, plain: Query, address: Any) -> dict[str, tuple[float, float]]:
        """How often a chunk has each term of *plain*, and its length: as tantivy explains its score."""
        found = json.loads(plain.explain(self._searcher, address).to_json())
        return {term: (values["freq"], values["dl"]) for term, values in _explained(found)}

    def _mean_length(self, field: str) -> float:
        """The words of a chunk on average; of nothing 0."""
        for term, _ in self._searcher.terms_with_prefix(field, "", limit=1):
            query = Query.term_query(self._schema, field, term, "freq")
            [(_, address)] = self._searcher.search(query, 1, count=False).hits
            [(_, values)] = _explained(json.loads(query.explain(self._searcher, address).to_json()))
            return values["avgdl"]
        return 0.0


def _explained(node: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, float]]]:
    """Each term of tantivy's explanation with its values, by the names before their commas."""
    if "context" in node:
        [described] = node["context"]
        term = _TERM.search(described)
        assert term is not None  # noqa: S101 - tantivy names the term of every score
        values = {each["description"].partition(",")[0]: each["value"] for each in _leaves(node)}
        yield _ESCAPED.sub(lambda found: chr(int(found[1], 16)), term[1]), values
        return
    for each in node.get("details", ()):
        yield from _explained(each)


def _leaves(node: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for each in node.get("details", ()):
        yield from _leaves(each)
    if not node.get("details"):
        yield node
