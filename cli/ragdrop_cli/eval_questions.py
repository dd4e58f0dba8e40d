"""The questions of `ragdrop eval`: a JSON Lines file, or a folder in the BEIR layout (docs/evaluation.md)."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragdrop.errors import ConfigurationError

MAX_QUESTION_CHARS = 1_000  # what the API takes


@dataclass(frozen=True, slots=True)
class EvalQuestion:
    """What is asked and what is expected: documents with grades over 0, a text, or (with neither) no answer."""

    id: str
    text: str
    documents: Mapping[str, float]
    expected_text: str | None = None

    @property
    def answerable(self) -> bool:
        """Whether something is expected."""
        return bool(self.documents or self.expected_text)


def read_questions(place: Path, *, split: str, path_format: str) -> list[EvalQuestion]:
    """The questions of a file or a BEIR folder.

    Args:
        place: A `.jsonl` file, or a folder with `queries.jsonl` and `qrels/{split}.tsv`.
        split: Which judgements of a folder.
        path_format: The path of a folder's document, with `{id}` where its id stands.

    Raises:
        ConfigurationError: It cannot be read, or a line is not what it should be; the message names the line.
    """
    try:
        found = list(_folder(place, split, path_format) if place.is_dir() else _file(place))
    except OSError as exc:
        raise ConfigurationError(f"{exc.filename} cannot be read: {exc.strerror}") from exc
    except (UnicodeDecodeError, KeyError, ValueError) as exc:
        raise ConfigurationError(f"{place} cannot be read: {exc}") from exc
    if not found:
        raise ConfigurationError(f"{place} holds no questions")
    return found


def _file(place: Path) -> Iterator[EvalQuestion]:
    for number, line in _lines(place):
        fields = _object(line, f"{place.name} line {number}")
        text, document = fields.get("question") or fields.get("query"), fields.get("document")
        if not isinstance(text, str) or not text.strip():
            raise ConfigurationError(f"{place.name} line {number} has no question")
        named = document if isinstance(document, list) else [document] if document else []
        expected = fields.get("text") or None
        yield EvalQuestion(
            str(fields.get("id") or number),
            text.strip()[:MAX_QUESTION_CHARS],
            {str(name): 1.0 for name in named},
            str(expected) if expected else None,
        )


def _folder(place: Path, split: str, path_format: str) -> Iterator[EvalQuestion]:
    relevant: dict[str, dict[str, float]] = {}
    with (place / "qrels" / f"{split}.tsv").open(encoding="utf-8", newline="") as rows:
        for row in csv.DictReader(rows, delimiter="\t"):
            grade = float(row["score"])
            if grade > 0:
                relevant.setdefault(row["query-id"], {})[path_format.replace("{id}", row["corpus-id"])] = grade
    for number, line in _lines(place / "queries.jsonl"):
        fields = _object(line, f"queries.jsonl line {number}")
        id_ = str(fields["_id"])
        if id_ in relevant:
            yield EvalQuestion(id_, str(fields["text"]).strip()[:MAX_QUESTION_CHARS], relevant[id_])


def _lines(place: Path) -> Iterator[tuple[int, str]]:
    with place.open(encoding="utf-8") as lines:
        yield from ((number, line) for number, line in enumerate(lines, start=1) if line.strip())


def _object(line: str, where: str) -> dict[str, Any]:
    try:
        fields = json.loads(line)
    except ValueError as exc:
        raise ConfigurationError(f"{where} is no JSON: {exc}") from exc
    if not isinstance(fields, dict):
        raise ConfigurationError(f"{where} is no JSON object")
    return fields
