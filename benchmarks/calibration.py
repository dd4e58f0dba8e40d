"""Calibrated relevance: each collection calibrates itself from its titles alone; its labels only judge.

    RAGDROP_EVAL_DATA=... python -m benchmarks.calibration [--write] [COLLECTION ...]

--write keeps the record and draws docs/calibration.svg.

Required: of SciFact's relevant pairs the median is at least 0.7, at most 2 % of random pairs pass 0.7; at least 85 % of
the questions of another collection find nothing, at least 90 % of a collection's own find something.  The 85 %
were 95 before the operating point was lowered for questions in users' own words (docs/adr/0013-own-words.md).
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path
from statistics import median

from benchmarks import records
from benchmarks.collections import RETRIEVAL, REVISION, Collection, index_ref, indexed_chunks, load, needed_data
from benchmarks.embeddings import SPACE, LocalEmbeddings
from benchmarks.pipeline import bucket_index
from benchmarks.plots import draw
from benchmarks.records import Grid, publish
from ragdrop.calibration.calibrate import Calibrate, ObservedScores, SampleDocuments, best, cosine
from ragdrop.domain.chunks import CandidateQuery, Filters, Hit, IndexedChunk, Vector
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Detail
from ragdrop.domain.models import OPERATING_RELEVANCE, Calibration, for_space
from ragdrop.domain.retrieval import candidate_limit
from ragdrop.domain.tenants import ActiveIndex, ChunkingPlan, IndexRef, Tenant
from ragdrop.ingest.revision_store import RevisionStore
from ragdrop.ports.indexes import ChunkIndex
from ragdrop.ports.registry import Claim
from ragdrop.query.fusion import coverage
from ragdrop.tenants.directory import TenantDirectory
from readers.parsed import ParsedDocument
from testing.memory_object_store import MemoryObjectStore
from testing.memory_registry import MemoryRegistry

RANDOM_PAIRS = 50  # a question
CANDIDATES = candidate_limit(5)  # of each retriever, as for a question of the middle kind
MAX_CHUNKS_WRITTEN = 500  # at once
Pair = tuple[float, float]
"""A chunk's cosine, and the share of the question's words that it holds."""
EDGES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)
FEWEST = 5  # questions in a bin that counts
REQUIRED_OWN, REQUIRED_FOREIGN, REQUIRED_RANDOM = 0.90, 0.85, 0.02


@dataclass(frozen=True, slots=True)
class Best:
    """What a question finds in a collection: `near` of every candidate, and the best lexical score."""

    near: tuple[Pair, ...]
    lexical: float

    def relevance(self, calibration: Calibration) -> float:
        return max(calibration.relevance(cosine, coverage=covered) for cosine, covered in self.near)


@dataclass(frozen=True, slots=True)
class Measured:
    """One collection, calibrated alone: scores as they are, to be read by any curve."""

    name: str
    fit: Calibration
    cosines: ObservedScores
    relevant: list[float]
    random: list[Pair]
    found: dict[str, list[Best]]  # by the collection that the questions are of

    def passing(self, calibration: Calibration, questions: str) -> float:
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


def measure(names: Sequence[str]) -> list[Measured]:
    folder = needed_data("calibration")
    collections = [load(folder / name) for name in names]
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
        fit = calibrate(collection.name, collection.name, Deadline.after(600)).after
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
        present = list(group)
        # a first revision is the time in milliseconds
        registry.claim(key, None, Claim("v1", None, "m", 0.0, None, REVISION / 1_000))
        registry.activate(
            Detail(key, REVISION, present[0].facts, len(present), "", 0, "", "text/markdown", "stated"), 0.0
        )
        pieces = [each.chunk for each in present]
        # the fit reads places and vectors alone, so the text need only be as long
        text = ParsedDocument("\n" * present[-1].chunk.end, "markdown", "text/markdown")
        stored = revisions.write_text(key, REVISION, text)
        revisions.write_chunks(stored, part.name, pieces, [each.vector for each in present])
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
    return [calibration.relevance(cosine_, coverage=covered) for cosine_, covered in each.random]


def passing_share(relevances: Iterable[float]) -> float:
    present = list(relevances)
    return sum(each >= OPERATING_RELEVANCE for each in present) / len(present)


@contextmanager
def _timed(what: str) -> Iterator[None]:
    began = time.monotonic()
    yield
    print(f"{what} in {time.monotonic() - began:.1f} s", file=sys.stderr, flush=True)


def table(measured: Sequence[Measured]) -> Grid:
    names = [each.name for each in measured]
    heads = ["collection", "calibration", "0.7 is a cosine of", "relevant pairs, median", "random pairs over 0.7"]
    columns = [*heads, "own questions answered", *(f"questions of {name} that find nothing" for name in names)]
    rows = []
    for each in measured:
        for label, calibration in (("shipped", for_space(SPACE)), ("fitted", each.fit)):
            foreign = ("–" if name == each.name else percent(1 - each.passing(calibration, name)) for name in names)
            rows.append(
                [
                    each.name,
                    label,
                    f"{calibration.vector.operating_point:.3f}",
                    f"{median(map(calibration.relevance, each.relevant)):.2f}",
                    percent(passing_share(random_relevances(each, calibration))),
                    percent(each.passing(calibration, each.name)),
                    *foreign,
                ]
            )
    return Grid(columns, rows)


def words_table(measured: Sequence[Measured]) -> Grid:
    columns = ["collection", "0.7 is a BM25 score of", "own questions answered", "others' that find nothing, least"]
    rows = []
    for each in measured:
        own = each.passing_by_words(each.fit, each.name)
        others = [1 - (each.passing_by_words(each.fit, name) or 0.0) for name in each.found if name != each.name]
        curve = each.fit.lexical
        if own is None or curve is None or not others:
            rows.append([each.name, "no fit", "all", "–"])
        else:
            rows.append([each.name, f"{curve.operating_point:.1f}", percent(own), percent(min(others))])
    return Grid(columns, rows)


def reliability_table(measured: Sequence[Measured]) -> Grid:
    rows = [(each.name, f"{mean:.4f}", f"{own:.4f}") for each in measured for mean, own in reliability(each)]
    return Grid(("collection", "relevance of a question's best hit, mean of a bin", "share of own questions"), rows)


def reliability(measured: Measured) -> list[tuple[float, float]]:
    """For each bin of the best hit's relevance: its mean, and the share of questions that are the collection's own.

    A question of another collection has the weight at which both kinds weigh the same.
    """
    scored = [
        (each.relevance(measured.fit), name == measured.name)
        for name, found in measured.found.items()
        for each in found
    ]
    own = sum(mine for _, mine in scored)
    weight = own / max(len(scored) - own, 1)
    points = []
    for low, high in pairwise(EDGES):
        present = [(score, 1.0 if mine else weight, mine) for score, mine in scored if low <= score < high]
        if len(present) >= FEWEST:
            total = sum(each for _, each, _ in present)
            mean = sum(score * each for score, each, _ in present) / total
            points.append((mean, sum(each for _, each, mine in present if mine) / total))
    return points


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def broken(measured: Sequence[Measured]) -> list[str]:
    """What is required and does not hold for the fitted calibrations."""
    wrong = []
    for each in measured:
        if each.name == "scifact":
            middle = median(map(each.fit.relevance, each.relevant))
            passing = passing_share(random_relevances(each, each.fit))
            wrong += [f"scifact: median of relevant pairs {middle:.2f}"] if middle < OPERATING_RELEVANCE else []
            wrong += [f"scifact: {percent(passing)} of random pairs pass"] if passing > REQUIRED_RANDOM else []
        for name in each.found:
            share = each.passing(each.fit, name)
            if name == each.name and share < REQUIRED_OWN:
                wrong.append(f"{name}: only {percent(share)} of the own questions are answered")
            if name != each.name and 1 - share < REQUIRED_FOREIGN:
                wrong.append(f"{each.name}: only {percent(1 - share)} of the questions of {name} find nothing")
    return wrong


def main() -> int:
    parser = records.parser(__doc__)
    parser.add_argument("collections", nargs="*", default=RETRIEVAL, metavar="COLLECTION", help="default: all")
    options = parser.parse_args()
    if options.write and options.collections != RETRIEVAL:
        parser.error("a record is of the whole: --write goes without COLLECTION")
    measured = measure(options.collections)
    grids = [table(measured), words_table(measured), reliability_table(measured)]
    publish("calibration", grids, write=options.write)
    if options.write:
        draw("calibration")
    wrong = broken(measured)
    print("\n" + ("\n".join(wrong) or "acceptance 3 holds"))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
