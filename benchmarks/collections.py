"""Public retrieval collections in the BEIR layout, from the folder that RAGDROP_EVAL_DATA names."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RETRIEVAL = ("cranfield", "hotpotqa-500", "scifact")


@dataclass(frozen=True, slots=True)
class CollectionDocument:
    """A document of a collection."""

    id: str
    title: str
    text: str

    @property
    def path(self) -> str:
        """Where it is pushed to in a vault."""
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
    """The evaluation data, None where RAGDROP_EVAL_DATA is not set."""
    named = os.environ.get("RAGDROP_EVAL_DATA")
    return Path(named) if named else None


def load(folder: Path, *, split: str = "test") -> Collection:
    """Read `corpus.jsonl`, `queries.jsonl` and `qrels/{split}.tsv` of *folder*; only questions that have a document."""
    documents = [
        CollectionDocument(line["_id"], line.get("title") or "", line["text"])
        for line in _lines(folder / "corpus.jsonl")
        if (line.get("title") or line["text"]).strip()
    ]
    relevant: dict[str, dict[str, float]] = {}
    with (folder / "qrels" / f"{split}.tsv").open(encoding="utf-8", newline="") as rows:
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
    """The questions of `squad2`."""
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
