"""`ragdrop eval --from-feedback`: what callers said of answers becomes golden questions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragdrop.client import RagdropClient
from ragdrop.errors import ConfigurationError, DocumentNotFoundError, InvalidParamsError
from ragdrop_cli.output import note, say_object, say_table

_TOKEN = re.compile(r"[^\s\"'`<>()\[\],;:]+")
MAX_NAMES = 10  # words of one text that are looked up


@dataclass(frozen=True, slots=True)
class LastWord:
    """The last word on a question: of which answer, what it cites and found, and what was said."""

    answer: Mapping[str, Any]
    kind: str
    text: str


def write_questions(client: RagdropClient, place: Path | None, *, as_json: bool) -> None:
    """Write a line for each question whose answer is known; list the others for a person.

    Raises:
        ConfigurationError: The file exists, or cannot be written.
    """
    if place is not None and place.exists():
        raise ConfigurationError(f"{place} exists: name a new file, or remove it")
    questions: list[dict[str, Any]] = []
    left: list[LastWord] = []
    for judged in _judgements(answer for page in client.feedback() for answer in page["answers"]):
        line = _line(client, judged)
        if line is None:
            left.append(judged)
        else:
            questions.append(line)
    if place is not None:
        _write(place, questions)
    if as_json:
        open_ = [{"question": each.answer["question"], "kind": each.kind, "text": each.text} for each in left]
        say_object({"questions": questions, "open": open_})
    elif place is None:
        for line in questions:
            say_object(line)
    note(f"{len(questions)} golden questions" + (f" are written to {place}" if place is not None else ""))
    if left and not as_json:
        note(f"{len(left)} are open, as nothing says which document has the answer:")
        say_table(
            ("said", "question", "text"), [(one.kind, one.answer["question"], one.text) for one in left], error=True
        )


def _judgements(answers: Iterable[Mapping[str, Any]]) -> list[LastWord]:
    """The last word on each question, in the order of time."""
    said = sorted(
        ((each["at"], answer, each) for answer in answers for each in answer["feedback"]), key=lambda one: one[0]
    )
    last = {answer["question"]: LastWord(answer, each["kind"], each["text"]) for _, answer, each in said}
    return list(last.values())


def _line(client: RagdropClient, judged: LastWord) -> dict[str, Any] | None:
    """The question as a line of a file; None where nobody knows what it expects."""
    answer = judged.answer
    line = {"id": answer["answer_id"], "question": answer["question"]}
    if judged.kind == "right":
        if answer["abstained"]:
            return line  # a question that nothing answers, and rightly so
        expected = list(answer["cited"])
    else:
        expected = list(dict.fromkeys(_named(client, judged)))
    return {**line, "document": expected} if expected else None


def _named(client: RagdropClient, judged: LastWord) -> Iterator[str]:
    """The documents that a text names: those that were found, by their paths, and others that exist."""
    found: list[str] = judged.answer["found"]
    for name in found:
        if name.partition("/")[2] in judged.text:
            yield name
    vaults = list(dict.fromkeys(name.partition("/")[0] for name in found))
    words = [word.rstrip(".!?") for word in _TOKEN.findall(judged.text)]
    for word in [word for word in words if "." in word or "/" in word][:MAX_NAMES]:
        places = [word, *(f"{vault}/{word}" for vault in vaults)]
        yield from [place for place in places if _exists(client, place)][:1]


def _exists(client: RagdropClient, place: str) -> bool:
    vault, _, path = place.partition("/")
    try:
        return bool(path) and client.get_document(vault, path)["status"] != "deleted"
    except (DocumentNotFoundError, InvalidParamsError):
        return False


def _write(place: Path, questions: Iterable[Mapping[str, Any]]) -> None:
    try:
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in questions)
        place.write_text(text, encoding="utf-8")
    except OSError as exc:
        raise ConfigurationError(f"{place} cannot be written: {exc.strerror}") from exc
