"""Public retrieval collections in the BEIR layout, from the folder that RAGDROP_EVAL_DATA names, and their chunks."""

from __future__ import annotations

import csv
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.embeddings import DIMENSION, MODEL, LocalEmbeddings
from ragdrop.domain.chunks import Chunk, IndexedChunk
from ragdrop.domain.documents import Facts
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import IndexRef
from ragdrop.ingest.metadata import facts_of
from ragdrop.models.splitter import SemanticSplitter
from readers.text import read_markdown

RETRIEVAL = ("cranfield", "hotpotqa-500", "scifact")
CHUNK_TOKENS, OVERLAP_TOKENS = 240, 24  # the local default: the model's window of 256 less 16
REVISION = 1


@dataclass(frozen=True, slots=True)
class CollectionDocument:
    """A document of a collection."""

    id: str
    title: str
    text: str

    @property
    def path(self) -> str:
        return f"{self.id}.md"

    @property
    def markdown(self) -> str:
        """The file that is pushed: the title as heading, then the text."""
        return f"# {' '.join(self.title.split())}\n\n{self.text}\n" if self.title.strip() else f"{self.text}\n"


@dataclass(frozen=True, slots=True)
class Collection:
    """Documents, questions by id, and for each question the relevant documents with their grades (over 0)."""

    name: str
    documents: list[CollectionDocument]
    questions: dict[str, str]
    relevant: dict[str, dict[str, float]]
    answers: dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class SquadQuestion:
    """A question of SQuAD 2.0 on its paragraph; `answers` is empty where the paragraph does not answer it."""

    id: str
    question: str
    context: str
    answers: tuple[str, ...]


def data_folder() -> Path | None:
    named = os.environ.get("RAGDROP_EVAL_DATA")
    return Path(named) if named else None


def needed_data(benchmark: str) -> Path:
    """The evaluation data; without it the program ends with a notice, and no failure."""
    folder = data_folder()
    if folder is None:
        print(f"{benchmark}: skipped, RAGDROP_EVAL_DATA is not set")
        sys.exit(0)
    return folder


def load(folder: Path) -> Collection:
    """Read `corpus.jsonl`, `queries.jsonl` and `qrels/test.tsv` of *folder*; only questions that have a document."""
    documents = [
        CollectionDocument(line["_id"], line.get("title") or "", line["text"])
        for line in _lines(folder / "corpus.jsonl")
        if (line.get("title") or line["text"]).strip()
    ]
    relevant: dict[str, dict[str, float]] = {}
    with (folder / "qrels" / "test.tsv").open(encoding="utf-8", newline="") as rows:
        for row in csv.DictReader(rows, delimiter="\t"):
            if float(row["score"]) > 0:
                relevant.setdefault(row["query-id"], {})[row["corpus-id"]] = float(row["score"])
    lines = [line for line in _lines(folder / "queries.jsonl") if line["_id"] in relevant]
    return Collection(
        folder.name,
        documents,
        {line["_id"]: line["text"] for line in lines},
        relevant,
        {line["_id"]: list((line.get("metadata") or {}).get("answers") or []) for line in lines},
    )


def load_squad(folder: Path) -> list[SquadQuestion]:
    truth = json.loads((folder / "ground_truth.json").read_text("utf-8"))
    found = json.loads((folder / "queries.json").read_text("utf-8"))["queries"]
    return [
        SquadQuestion(line["id"], line["question"], line["context"], tuple(filter(None, truth[line["id"]]["answers"])))
        for line in found
    ]


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                yield json.loads(line)


def index_ref(tenant: str) -> IndexRef:
    """The tenant's part of an index for the local default model."""
    return IndexRef(tenant, f"bench-{MODEL.lower()}", DIMENSION)


def indexed_chunks(collection: Collection, model: LocalEmbeddings, *, tenant: str = "bench") -> list[IndexedChunk]:
    """Every chunk of *collection*, in order of its documents; key `{tenant}/{collection}/{id}.md`, revision 1."""
    splitter = SemanticSplitter(lambda: model.tokenizer)
    pieces = list(_pieces(collection, splitter, tenant))
    vectors = model.embed([chunk.in_context for _, chunk, _ in pieces])
    return [
        IndexedChunk(key, REVISION, chunk, facts, vector)
        for (key, chunk, facts), vector in zip(pieces, vectors, strict=True)
    ]


def _pieces(
    collection: Collection, splitter: SemanticSplitter, tenant: str
) -> Iterator[tuple[DocumentKey, Chunk, Facts]]:
    for source in collection.documents:
        key = DocumentKey(tenant, collection.name, source.path)
        document = read_markdown(source.markdown.encode())
        facts, _, _ = facts_of(key, document, version_id="v1", indexed_at="2026-01-01T00:00:00Z")
        for chunk in splitter.split(document, max_tokens=CHUNK_TOKENS, overlap_tokens=OVERLAP_TOKENS):
            yield key, chunk, facts
