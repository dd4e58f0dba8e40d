"""Raw scores of collections that calibrate themselves from their titles: own, random, and of all questions."""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from benchmarks.collection_chunks import REVISION, index_ref, indexed_chunks
from benchmarks.collections import RETRIEVAL, Collection, data_folder, load
from benchmarks.local_embeddings import SPACE, LocalEmbeddings
from benchmarks.stores_in_memory import bucket_index
from ragdrop.domain.calibration import OPERATING_RELEVANCE, Calibration
from ragdrop.domain.chunks import CandidateQuery, Filters, Hit, IndexedChunk, Vector
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Detail
from ragdrop.domain.retrieval import candidate_limit
from ragdrop.domain.tenants import ActiveIndex, ChunkingPlan, IndexRef, Tenant
from ragdrop.ingest.revision_store import RevisionStore
from ragdrop.operate.calibrate import Calibrate, SampleDocuments, best, cosine
from ragdrop.operate.calibration_fit import ObservedScores
from ragdrop.ports import ChunkIndex, Claim
from ragdrop.query.coverage import coverage
from ragdrop.tenants.directory import TenantDirectory
from readers.parsed import ParsedDocument
from testing.memory_object_store import MemoryObjectStore
from testing.memory_registry import MemoryRegistry

RANDOM_PAIRS = 50  # a question
CANDIDATES = candidate_limit(5)  # of each retriever, as for a question of the middle kind
MAX_CHUNKS_WRITTEN = 500  # at once


Pair = tuple[float, float]
"""A chunk's cosine, and the share of the question's words that it holds."""


@dataclass(frozen=True, slots=True)
class Best:
    """What a question finds in a collection: `near` of every candidate, and the best lexical score."""

    near: tuple[Pair, ...]
    lexical: float

    def relevance(self, calibration: Calibration) -> float:
        """Of the most relevant candidate."""
        return max(calibration.relevance(cosine, coverage=covered) for cosine, covered in self.near)


@dataclass(frozen=True, slots=True)
class Measured:
    """One collection, calibrated by itself: scores as they are, to be read by any curve."""

    name: str
    fit: Calibration
    cosines: ObservedScores
    relevant: list[float]
    random: list[Pair]
    found: dict[str, list[Best]]  # by the collection that the questions are of

    def passing(self, calibration: Calibration, questions: str) -> float:
        """Share of questions that find something over the threshold."""
        return passing_share(each.relevance(calibration) for each in self.found[questions])

    def passing_by_words(self, calibration: Calibration, questions: str) -> float | None:
        """The same where only the lexical part answers; None without a lexical fit."""
        if calibration.lexical is None:
            return None
        return passing_share(calibration.relevance(None, each.lexical) for each in self.found[questions])


class _Watched(Calibrate):
    """Calibrate, keeping what it saw."""

    seen: ObservedScores

    def _evidence(self, *args: object) -> tuple[ObservedScores, ObservedScores]:
        both = super()._evidence(*args)  # type: ignore[arg-type]
        self.seen = both[0]
        return both


def bounded(collection: Collection, documents: int) -> Collection:
    """About *documents* documents: for one half what answers some questions, for the other any."""
    chance = random.Random(collection.name)
    questions = chance.sample(sorted(collection.questions), len(collection.questions))
    kept: set[str] = set()
    asked: dict[str, str] = {}
    for question in questions:
        if len(kept) < documents // 2:
            asked[question] = collection.questions[question]
            kept |= set(collection.relevant[question])
    others = [each.id for each in collection.documents if each.id not in kept]
    kept |= set(chance.sample(others, min(len(others), max(documents - len(kept), 0))))
    relevant = {question: collection.relevant[question] for question in asked}
    chosen = [each for each in collection.documents if each.id in kept]
    return replace(collection, documents=chosen, questions=asked, relevant=relevant)


def measure(names: Sequence[str] = RETRIEVAL, *, documents: int | None = None) -> list[Measured]:
    """Calibrate each collection, then ask all questions of all."""
    folder = data_folder()
    if folder is None:
        return []
    collections = [load(folder / name) for name in names]
    if documents is not None:
        collections = [bounded(each, documents) for each in collections]
    with LocalEmbeddings() as model, tempfile.TemporaryDirectory() as place:
        index = bucket_index(Path(place))
        asked = {
            each.name: dict(zip(each.questions, model.embed(list(each.questions.values())), strict=True))
            for each in collections
        }
        return [_measured(each, collections, asked, index, model) for each in collections]


def _measured(
    collection: Collection,
    collections: Sequence[Collection],
    asked: Mapping[str, Mapping[str, Vector]],
    index: ChunkIndex,
    model: LocalEmbeddings,
) -> Measured:
    chunks = indexed_chunks(collection, model, tenant=collection.name)
    part = index_ref(collection.name)
    for start in range(0, len(chunks), MAX_CHUNKS_WRITTEN):
        index.upsert(part, chunks[start : start + MAX_CHUNKS_WRITTEN], Deadline.after(600))
    registry, revisions = _registered(collection.name, part, chunks)
    calibrate = _Watched(
        registry=registry,
        directory=TenantDirectory(registry, clock=time.time),
        index=index,
        embedder=model,
        sample=SampleDocuments(registry=registry, revisions=revisions),
        clock=time.time,
    )
    with _timed(f"{collection.name} calibrated"):
        fit = calibrate(collection.name, Deadline.after(600)).after
    own: dict[str, list[Vector]] = {}
    for chunk in chunks:
        own.setdefault(chunk.key.path.removesuffix(".md"), []).append(chunk.vector)
    chance = random.Random(collection.name)
    questions = asked[collection.name]
    return Measured(
        collection.name,
        fit,
        calibrate.seen,
        [
            best(questions[question], own[document])
            for question, documents in collection.relevant.items()
            for document in documents
            if document in own
        ],
        [
            pair
            for id_, vector in questions.items()
            for pair in _random_pairs(collection.questions[id_], vector, chance.choices(chunks, k=RANDOM_PAIRS))
        ],
        {
            each.name: [_best(index, part, each.questions[id_], vector) for id_, vector in asked[each.name].items()]
            for each in collections
        },
    )


def _registered(name: str, part: IndexRef, chunks: Sequence[IndexedChunk]) -> tuple[MemoryRegistry, RevisionStore]:
    """A registry and a state bucket in which these chunks are live."""
    registry, revisions = MemoryRegistry(), RevisionStore(MemoryObjectStore("state"))
    registry.create_tenant(Tenant(name, ActiveIndex(part.name, SPACE, ChunkingPlan())))
    documents = 0
    for key, group in groupby(chunks, key=lambda chunk: chunk.key):
        held = list(group)
        # a first revision is the time in milliseconds
        registry.claim(key, None, Claim("v1", None, "m", 0.0, None, REVISION / 1_000))
        registry.activate(Detail(key, REVISION, held[0].facts, len(held), "", 0, "", "text/markdown", "stated"), 0.0)
        pieces = [each.chunk for each in held]
        # the fit reads places and vectors alone, so the text need only be as long
        text = ParsedDocument("\n" * held[-1].chunk.end, "markdown", "text/markdown")
        kept = revisions.write_text(key, REVISION, text)
        revisions.write_chunks(kept, part.name, pieces, [each.vector for each in held])
        documents += 1
    registry.add_to_tenant(name, vault=name, documents=documents, chunks=len(chunks))
    return registry, revisions


def _best(index: ChunkIndex, part: IndexRef, text: str, vector: Vector) -> Best:
    [found] = index.candidates(part, [CandidateQuery(text, vector, Filters(), CANDIDATES)], Deadline.after(60))
    cosines = {hit.chunk_id: hit.cosine for hit in found.lexical if hit.cosine is not None}
    cosines |= {hit.chunk_id: hit.score for hit in found.vector}
    covered = coverage(text, [*found.vector, *found.lexical])
    near = tuple((score, covered[id_]) for id_, score in cosines.items())
    return Best(near, found.lexical[0].score if found.lexical else 0.0)


def _random_pairs(text: str, vector: Vector, chunks: Sequence[IndexedChunk]) -> Iterator[Pair]:
    """The question against chunks drawn by chance, which are each other's candidates too."""
    hits = [Hit(chunk.key, chunk.revision, chunk.chunk, chunk.facts, cosine(vector, chunk.vector)) for chunk in chunks]
    covered = coverage(text, hits)
    return ((hit.score, covered[hit.chunk_id]) for hit in hits)


def random_relevances(each: Measured, calibration: Calibration) -> list[float]:
    """Of the random pairs of a collection."""
    return [calibration.relevance(cosine_, coverage=covered) for cosine_, covered in each.random]


def passing_share(relevances: Iterable[float]) -> float:
    """Share of relevances at or over the threshold."""
    held = list(relevances)
    return sum(each >= OPERATING_RELEVANCE for each in held) / len(held)


@contextmanager
def _timed(what: str) -> Iterator[None]:
    began = time.monotonic()
    yield
    print(f"{what} in {time.monotonic() - began:.1f} s", file=sys.stderr, flush=True)
