"""What differs between a receipt and the answer that the same question gets now: pure."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

NOT_ASKED_AGAIN = ("session",)  # links that the session has followed are not followed twice


def question_again(receipt: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of `POST /ask` that ask the question of *receipt* once more.

    >>> question_again({"question": "pump", "request": {"limit": 3, "session": "s"}})
    {'query': 'pump', 'limit': 3}
    """
    request = {name: value for name, value in receipt["request"].items() if name not in NOT_ASKED_AGAIN}
    return {"query": receipt["question"], **request}


def text_difference(before: str, after: str) -> list[str]:
    r"""The lines of both texts that differ, `-` for what was said, `+` for what is said now.

    >>> text_difference("It is red.\nYes.", "It is blue.\nYes.")
    ['-It is red.', '+It is blue.']
    """
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0)
    return [line for line in lines if not line.startswith(("---", "+++", "@@"))]


def missing(of: Sequence[Mapping[str, Any]], among: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The citations *of* one answer that do not stand *among* another's: the same document and quote is the same one.

    >>> missing([{"key": "a", "quote": "x"}, {"key": "a", "quote": "y"}], [{"key": "a", "quote": "x"}])
    [{'key': 'a', 'quote': 'y'}]
    """
    there = {(each["key"], each["quote"]) for each in among}
    return [dict(each) for each in of if (each["key"], each["quote"]) not in there]


def changed(documents: Sequence[Mapping[str, Any]], records: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The documents of a receipt that have another live version by now; *records* are theirs by key, as they are.

    >>> changed([{"key": "a", "version_id": "1"}], {"a": {"live_version_id": "2", "status": "indexed"}})
    [{'key': 'a', 'version_id': '1', 'live_version_id': '2', 'status': 'indexed'}]
    """
    found = []
    for document in documents:
        record = records.get(document["key"], {"live_version_id": None, "status": "gone"})
        if record["live_version_id"] != document["version_id"]:
            now = {"live_version_id": record["live_version_id"], "status": record["status"]}
            found.append({"key": document["key"], "version_id": document["version_id"], **now})
    return found


def explained(
    then: Mapping[str, Any], now: Mapping[str, Any], documents: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """The changed *documents* that an answer stands on *then* or *now* and not both times, those cited first.

    >>> then = {"citations": [{"key": "a", "quote": "red"}]}
    >>> now = {"citations": [{"key": "a", "quote": "blue"}]}
    >>> [each["why"] for each in explained(then, now, [{"key": "a"}, {"key": "b"}])]
    ['the answer cites other words of it']
    """
    gone = {each["key"] for each in missing(then["citations"], now["citations"])}
    new = {each["key"] for each in missing(now["citations"], then["citations"])}
    found = []
    for document in documents:
        key = document["key"]
        if key in gone and key in new:
            found.append({**document, "why": "the answer cites other words of it"})
        elif key in gone:
            found.append({**document, "why": "only the answer of then cites it"})
        elif key in new:
            found.append({**document, "why": "only the answer of now cites it"})
    return found


def difference(
    receipt: Mapping[str, Any], answer: Mapping[str, Any], records: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """All that differs; `same` says that text and citations do not, whatever else does."""
    gone = missing(receipt["citations"], answer["citations"])
    new = missing(answer["citations"], receipt["citations"])
    both = {name: {"before": receipt[name], "after": answer[name]} for name in ("answer", "model", "prompt_version")}
    return {
        "answer_id": receipt["answer_id"],
        "new_answer_id": answer.get("answer_id"),
        "same": receipt["answer"] == answer["answer"] and not gone and not new,
        **both,
        "text": text_difference(receipt["answer"], answer["answer"]),
        "citations_gone": gone,
        "citations_new": new,
        "documents_changed": changed(receipt["documents"], records),
        "left_out": receipt["request_left_out"],
        "shortened": receipt["shortened"],
    }
