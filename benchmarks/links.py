"""Whether following links pays: two-hop questions on pages that link to each page whose title occurs in their text.

For every question the documents that reach the context are compared with those that answer it, at several budgets and
settings of the real FollowLinks over the bucket index.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Collection as Several
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks import records
from benchmarks.collections import (
    REVISION,
    Collection,
    CollectionDocument,
    index_ref,
    indexed_chunks,
    load,
    needed_data,
)
from benchmarks.embeddings import LocalEmbeddings
from benchmarks.pipeline import bucket_index
from benchmarks.records import Grid, publish
from ragdrop.domain.chunks import CandidateQuery, Filters, IndexedChunk, Vector
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Head, Heads, Name, Status, folded_name
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.links import Link, followable
from ragdrop.domain.models import EmbeddingSpace
from ragdrop.domain.retrieval import FoundChunk, FoundDocument, candidate_limit
from ragdrop.domain.tenants import ActiveIndex, Caller, ChunkingPlan, Tenant
from ragdrop.ingest.index_revision import mentions
from ragdrop.query.follow_links import FollowLinks, LinkRequest
from ragdrop.query.fusion import fuse
from ragdrop.query.view import View
from testing.memory_telemetry import MemoryVisitedCache

TENANT = "bench"
MIN_TITLE_CHARACTERS = 4
_WORDS = re.compile(r"\w+")


class AllLive:
    """The registry's part that following links asks: every document is live; *paths* are found by their names."""

    def __init__(self, paths: Sequence[str] = ()) -> None:
        self._named: dict[str, tuple[str, ...]] = {}
        for path in paths:
            self._named[folded_name(path)] = (*self._named.get(folded_name(path), ()), path)

    def named_and_heads(
        self, names: Several[Name], keys: Several[DocumentKey], deadline: Deadline
    ) -> tuple[dict[Name, tuple[str, ...]], Heads]:
        """The paths of each name, and a live head of each key."""
        return {name: self._named[name.name] for name in names if name.name in self._named}, self.heads(keys, deadline)

    def heads(self, keys: Several[DocumentKey], deadline: Deadline) -> Heads:
        return Heads({key: Head(key, Status.INDEXED, REVISION, live_revision=REVISION) for key in keys})


def linked(documents: Sequence[CollectionDocument]) -> dict[str, list[str]]:
    """For every document the others whose title stands in its text, in order of their place.

    >>> made = [("a", "Pump", "no"), ("b", "Seal", "of a Pump"), ("c", "Pumps", "Pumpseal")]
    >>> linked([CollectionDocument(*each) for each in made])
    {'a': [], 'b': ['a'], 'c': []}
    """
    titles: dict[tuple[str, ...], str] = {}
    for document in documents:
        words = tuple(_WORDS.findall(document.title))
        if words and len(document.title) >= MIN_TITLE_CHARACTERS:
            titles.setdefault(words, document.id)
    longest = max(map(len, titles), default=0)
    found: dict[str, list[str]] = {}
    for document in documents:
        words = tuple(_WORDS.findall(document.text))
        spans = (words[at : at + size] for at in range(len(words)) for size in range(1, longest + 1))
        ids = dict.fromkeys(titles[span] for span in spans if span in titles)
        found[document.id] = [id_ for id_ in ids if id_ != document.id]
    return found


def by_title(collection: Collection) -> Collection:
    """The collection with its documents' titles for ids, as files in a folder are called."""
    titles = {each.id: each.title.replace("/", "-") for each in collection.documents}
    documents = [replace(each, id=titles[each.id]) for each in collection.documents]
    relevant = {
        id_: {titles[name]: grade for name, grade in values.items()} for id_, values in collection.relevant.items()
    }
    return replace(collection, documents=documents, relevant=relevant)


def as_links(ids: Mapping[str, Sequence[str]]) -> dict[str, list[Link]]:
    return {id_: [Link(f"{target}.md") for target in targets] for id_, targets in ids.items()}


def both_ways(links: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """The links and, behind them, who links here.

    >>> both_ways({"a": ["b"], "b": []})
    {'a': ['b'], 'b': ['a']}
    """
    found = {id_: list(targets) for id_, targets in links.items()}
    for id_, targets in links.items():
        for target in targets:
            if id_ not in found[target]:
                found[target].append(id_)
    return found


def main() -> int:
    options = records.parser(__doc__).parse_args()
    folder = needed_data("links")
    collection = by_title(load(folder / "hotpotqa-500"))
    links = linked(collection.documents)
    with LocalEmbeddings() as model, tempfile.TemporaryDirectory() as place:
        chunks = indexed_chunks(collection, model, tenant=TENANT)
        questions = list(collection.questions)
        vectors = dict(zip(questions, model.embed([collection.questions[id_] for id_ in questions]), strict=True))
        named = {
            each.id: [Link(found.target, found.text) for found in mentions(each.text)] for each in collection.documents
        }
        one_way = _Vault(chunks, as_links(links), Path(place) / "one")
        two_ways = _Vault(chunks, as_links(both_ways(links)), Path(place) / "two")
        by_mention = _Vault(chunks, named, Path(place) / "named")
        direct = {id_: one_way.search(collection.questions[id_], vectors[id_]) for id_ in questions}
        shares = {
            name: _share(way, (one_way, two_ways, by_mention), direct, vectors, collection.relevant)
            for name, way in _ways().items()
        }
    rows = [(name, str(size), f"{share:.3f}") for (name, size), share in shares.items()]
    grid = Grid(("in the context", "documents at most", "all that is needed is there"), rows)
    publish("links", [grid], "tantivy", "simsimd", write=options.write)
    return 0


class _Vault:
    """The collection in its own bucket index, with these links."""

    def __init__(self, chunks: Sequence[IndexedChunk], links: Mapping[str, Sequence[Link]], folder: Path) -> None:
        self._index = bucket_index(folder)
        self._ref = index_ref(TENANT)
        with_links = [
            chunk
            if chunk.chunk.ordinal
            else replace(chunk, links=followable(links[chunk.key.path.removesuffix(".md")]))
            for chunk in chunks
        ]
        self._registry = AllLive([f"{id_}.md" for id_ in links])
        self._links = {chunk.key: chunk.links for chunk in with_links if not chunk.chunk.ordinal}
        self._index.upsert(self._ref, with_links, Deadline.after(600))
        space = EmbeddingSpace(self._ref.name, self._ref.dimension)
        self._tenant = Tenant(TENANT, ActiveIndex(self._ref.name, space, ChunkingPlan(240, 24), 1))

    def search(self, question: str, vector: Vector, *, limit: int = 10) -> list[FoundDocument]:
        query = CandidateQuery(question, vector, Filters(), candidate_limit(limit))
        found = self._index.candidates(self._ref, [query], Deadline.after(60))[0]
        fused = fuse(found.vector, found.lexical, question=question)
        best = {one.hit.key: one for one in reversed(fused)}
        ranked = dict.fromkeys(one.hit.key for one in fused)
        return [_document(best[key].hit, best[key].score) for key in list(ranked)[:limit]]

    def follow(self, roots: Sequence[FoundDocument], vector: Vector, *, bonus: float, **options: Any) -> list[str]:
        follow = FollowLinks(visited=MemoryVisitedCache(), clock=lambda: 0.0, bonus=bonus)
        followed = follow(
            View(self._registry, self._index),  # type: ignore[arg-type]
            [self._linking(root) for root in roots],
            LinkRequest(self._tenant, Caller(TENANT, "admin"), vector, **options),
            exclude=(),
            deadline=Deadline.after(60),
        )
        return [document.key.path for document in followed.documents]

    def _linking(self, found: FoundDocument) -> FoundDocument:
        """A document with the links that it has in this vault, wherever it was found."""
        hit = found.chunks[0].hit
        first = replace(hit, chunk=replace(hit.chunk, ordinal=0), links=self._links[found.key])
        return replace(found, chunks=(FoundChunk(first, found.score),))


Vaults = tuple[_Vault, _Vault, _Vault]
"""With links one way, with links both ways, and with mentions in place of links."""
Way = Callable[[Vaults, list[FoundDocument], Vector], list[str]]


def _ways() -> dict[tuple[str, int], Way]:

    def only(count: int) -> Way:
        return lambda _vaults, found, _vector: [document.key.path for document in found[:count]]

    def with_links(count: int, docs: int, depth: int, bonus: float, *, vault: int = 0) -> Way:
        def way(vaults: Vaults, found: list[FoundDocument], vector: Vector) -> list[str]:
            direct = [document.key.path for document in found[:count]]
            linked_too = vaults[vault].follow(found[:count], vector, bonus=bonus, max_docs=docs, max_depth=depth)
            return direct + linked_too

        return way

    ways = {(f"{count} direct", count): only(count) for count in (3, 5, 8)}
    for direct, docs in ((3, 2), (3, 5)):
        size, name = direct + docs, f"{direct} direct, {docs} linked"
        for bonus in (0.0, 0.05, 0.1):
            shown = f"{name}, {bonus} for several hits"
            ways[shown, size] = with_links(direct, docs, 1, bonus)
            ways[f"{shown}, backlinks too", size] = with_links(direct, docs, 1, bonus, vault=1)
        ways[f"{name}, 0.05 for several hits, depth 2", size] = with_links(direct, docs, 2, 0.05)
        ways[f"{name} by mentions", size] = with_links(direct, docs, 1, 0.05, vault=2)
    ways["5 direct, 3 linked", 8] = with_links(5, 3, 1, 0.05)
    ways["5 direct, 3 linked by mentions", 8] = with_links(5, 3, 1, 0.05, vault=2)
    return ways


def _share(
    way: Way,
    vaults: Vaults,
    direct: Mapping[str, list[FoundDocument]],
    vectors: Mapping[str, Vector],
    relevant: Mapping[str, Mapping[str, float]],
) -> float:
    """The share of questions whose relevant documents are all in the context."""
    whole = [
        {f"{id_}.md" for id_ in relevant[question]} <= set(way(vaults, found, vectors[question]))
        for question, found in direct.items()
    ]
    return sum(whole) / len(whole)


def _document(hit: Any, score: float) -> FoundDocument:
    return FoundDocument(
        key=hit.key,
        revision=hit.revision,
        facts=hit.facts,
        raw_score=score,
        score=score,
        chunks=(FoundChunk(hit, score),),
        text=hit.chunk.text,
        text_start=hit.chunk.start,
        text_end=hit.chunk.end,
    )


if __name__ == "__main__":
    sys.exit(main())
