"""The questions of `ragdrop eval`: a JSON Lines file, a BEIR folder, or made of feedback (docs/evaluation.md)."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragdrop.client import RagdropClient
from ragdrop.errors import ConfigurationError, DocumentNotFoundError, InvalidParamsError
from ragdrop_cli.output import note, say_object, say_table

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
    """The questions of a `.jsonl` file, a settings file, or a BEIR folder with `queries.jsonl` and `qrels/{split}.tsv`.

    *path_format* is the path of a folder's document, with `{id}` where its id stands.  Raises ConfigurationError if it
    cannot be read, or a line is not what it should be; the message names the line.
    """
    try:
        if place.suffix == ".json":
            found = _golden(place)
        else:
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
        where = f"{place.name} line {number}"
        yield _question(json_object(line, where), number, where)


def _golden(place: Path) -> list[EvalQuestion]:
    """The golden questions of a settings file."""
    golden = json_object(place.read_text(encoding="utf-8-sig"), place.name).get("golden_questions") or []
    return [_question(each, number, f"{place.name} question {number}") for number, each in enumerate(golden, start=1)]


def _question(fields: Mapping[str, Any], number: int, where: str) -> EvalQuestion:
    text, document = fields.get("question") or fields.get("query"), fields.get("document")
    if not isinstance(text, str) or not text.strip():
        raise ConfigurationError(f"{where} has no question")
    named = document if isinstance(document, list) else [document] if document else []
    expected = fields.get("text") or None
    return EvalQuestion(
        str(fields.get("id") or number),
        text.strip()[:MAX_QUESTION_CHARS],
        {str(name): 1.0 for name in named},
        str(expected) if expected else None,
    )


def _folder(place: Path, split: str, path_format: str) -> Iterator[EvalQuestion]:
    relevant: dict[str, dict[str, float]] = {}
    with (place / "qrels" / f"{split}.tsv").open(encoding="utf-8-sig", newline="") as rows:
        for row in csv.DictReader(rows, delimiter="\t"):
            grade = float(row["score"])
            if grade > 0:
                relevant.setdefault(row["query-id"], {})[path_format.replace("{id}", row["corpus-id"])] = grade
    for number, line in _lines(place / "queries.jsonl"):
        fields = json_object(line, f"queries.jsonl line {number}")
        id_ = str(fields["_id"])
        if id_ in relevant:
            yield EvalQuestion(id_, str(fields["text"]).strip()[:MAX_QUESTION_CHARS], relevant[id_])


def _lines(place: Path) -> Iterator[tuple[int, str]]:
    with place.open(encoding="utf-8-sig") as lines:
        yield from ((number, line) for number, line in enumerate(lines, start=1) if line.strip())


def json_object(line: str, where: str) -> dict[str, Any]:
    """The object that *line* is. Raises ConfigurationError: it is none; the message says *where* it stands."""
    try:
        fields = json.loads(line)
    except ValueError as exc:
        raise ConfigurationError(f"{where} is no JSON: {exc}") from exc
    if not isinstance(fields, dict):
        raise ConfigurationError(f"{where} is no JSON object")
    return fields


def folded(text: str) -> str:
    r"""*text* with white space and case folded, to be compared.

    >>> folded("Stored for\n35 days.")
    'stored for 35 days.'
    """
    return " ".join(text.split()).casefold()


_TOKEN = re.compile(r"[^\s\"'`<>()\[\],;:]+")
MAX_NAMES = 10  # words of one text that are looked up


def write_questions(client: RagdropClient, place: Path | None, *, as_json: bool) -> None:
    """Write a line for each question whose answer is known; list the others for a person.

    Raises ConfigurationError if the file exists, or cannot be written.
    """
    if place is not None and place.exists():
        raise ConfigurationError(f"{place} exists: name a new file, or remove it")
    answers = [answer for page in client.feedback() for answer in page["answers"]]
    said = sorted(((answer, word) for answer in answers for word in answer["feedback"]), key=lambda pair: pair[1]["at"])
    last = {answer["question"]: (answer, word) for answer, word in said}  # the last word on each question
    lines = [(answer, word, _golden_line(client, answer, word)) for answer, word in last.values()]
    questions = [line for _, _, line in lines if line is not None]
    left = [(word["kind"], answer["question"], word["text"]) for answer, word, line in lines if line is None]
    if place is not None:
        write_file(place, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in questions))
    if as_json:
        open_ = [{"question": question, "kind": kind, "text": text} for kind, question, text in left]
        say_object({"questions": questions, "open": open_})
    elif place is None:
        for line in questions:
            say_object(line)
    note(f"{len(questions)} golden questions" + (f" are written to {place}" if place is not None else ""))
    if left and not as_json:
        note(f"{len(left)} are open, as nothing says which document has the answer:")
        say_table(("said", "question", "text"), left, error=True)


def _golden_line(client: RagdropClient, answer: Mapping[str, Any], word: Mapping[str, Any]) -> dict[str, Any] | None:
    """The question of an answer as a line of a file; None where the last *word* does not say what it expects."""
    line = {"id": answer["answer_id"], "question": answer["question"]}
    if word["kind"] == "right":
        if answer["abstained"]:
            return line  # a question that nothing answers, and rightly so
        expected = list(answer["cited"])
    else:
        expected = list(dict.fromkeys(_named(client, answer["found"], word["text"])))
    return {**line, "document": expected} if expected else None


def _named(client: RagdropClient, found: Sequence[str], text: str) -> Iterator[str]:
    """The documents that a text names: those that were *found*, by their paths, and others that exist."""
    yield from (name for name in found if name.partition("/")[2] in text)
    vaults = list(dict.fromkeys(name.partition("/")[0] for name in found))
    words = [word.rstrip(".!?") for word in _TOKEN.findall(text)]
    for word in [word for word in words if "." in word or "/" in word][:MAX_NAMES]:
        places = [word, *(f"{vault}/{word}" for vault in vaults)]
        yield from [place for place in places if _exists(client, place)][:1]


def _exists(client: RagdropClient, place: str) -> bool:
    vault, _, path = place.partition("/")
    try:
        return bool(path) and client.get_document(vault, path)["status"] != "deleted"
    except (DocumentNotFoundError, InvalidParamsError):
        return False


def write_file(place: Path, text: str) -> None:
    """Write a file; ConfigurationError where it cannot be written."""
    try:
        place.write_text(text, encoding="utf-8")
    except OSError as exc:
        raise ConfigurationError(f"{place} cannot be written: {exc.strerror}") from exc
