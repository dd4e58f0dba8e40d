"""`ragdrop replay`, `diff` and `threads`: ask an earlier question again, show what differs and why; conversations."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any

import typer

from ragdrop.client import RagdropClient
from ragdrop.errors import DocumentNotFoundError
from ragdrop_cli.options import AsObject
from ragdrop_cli.output import FAILED, note, one_line, say, say_body, say_table
from ragdrop_cli.questions import joined, span
from ragdrop_cli.session import session_of

NOT_ASKED_AGAIN = ("session",)  # links that the session has followed are not followed twice


def question_again(receipt: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of `POST /ask` that ask the question of *receipt* once more."""
    request = {name: value for name, value in receipt["request"].items() if name not in NOT_ASKED_AGAIN}
    return {"query": receipt["question"], **request}


def text_difference(before: str, after: str) -> list[str]:
    """The lines of both texts that differ, `-` for what was said, `+` for what is said now."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0)
    return [line for line in lines if not line.startswith(("---", "+++", "@@"))]


def missing(of: Sequence[Mapping[str, Any]], among: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The citations *of* one answer that do not stand *among* another's: the same document and quote is the same."""
    there = {(each["key"], each["quote"]) for each in among}
    return [dict(each) for each in of if (each["key"], each["quote"]) not in there]


def explained(
    then: Mapping[str, Any], now: Mapping[str, Any], documents: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """The changed *documents* that an answer stands on *then* or *now* and not both times, those cited first."""
    gone = {each["key"] for each in missing(then["citations"], now["citations"])}
    new = {each["key"] for each in missing(now["citations"], then["citations"])}
    why = {
        (True, True): "the answer cites other words of it",
        (True, False): "only the answer of then cites it",
        (False, True): "only the answer of now cites it",
    }
    cited = [(each, (each["key"] in gone, each["key"] in new)) for each in documents]
    return [{**each, "why": why[where]} for each, where in cited if any(where)]


def difference(
    receipt: Mapping[str, Any], answer: Mapping[str, Any], changed: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """All that differs; `same` means that text and citations do not, whatever else does."""
    gone = missing(receipt["citations"], answer["citations"])
    new = missing(answer["citations"], receipt["citations"])
    both = {name: {"before": receipt[name], "after": answer[name]} for name in ("answer", "model", "prompt_version")}
    verdicts = [(each.get("answers_question") or {}).get("status") for each in (receipt, answer)]
    return {
        "answer_id": receipt["answer_id"],
        "new_answer_id": answer.get("answer_id"),
        "same": receipt["answer"] == answer["answer"] and not gone and not new,
        **both,
        "answers_question": {"before": verdicts[0], "after": verdicts[1]},
        "text": text_difference(receipt["answer"], answer["answer"]),
        "citations_gone": gone,
        "citations_new": new,
        "documents_changed": changed,
        "left_out": receipt["request_left_out"],
        "shortened": receipt["shortened"],
    }


AnswerId = Annotated[str, typer.Argument(help="The answer_id of an answer of the last 30 days.", show_default=False)]


def replay(context: typer.Context, answer_id: AnswerId, *, as_json: AsObject = False) -> None:
    """Answer a question of the last 30 days again and show what differs: text, citations, documents.

    Ends with 0 where text and citations are the same, with 1 where they are not.
    """
    with session_of(context).client() as client:
        receipt = client.answer(answer_id)
        answer = client.ask(**question_again(receipt))
        changed = [each for document in receipt["documents"] if (each := _of_another_version(client, document))]
    found = difference(receipt, answer, changed)
    if as_json:
        say(json.dumps(found, ensure_ascii=False))
    else:
        _show_replay(found, receipt)
    if not found["same"]:
        raise typer.Exit(FAILED)


ThreadWords = Annotated[str, typer.Argument(help="Words that the names of threads have.", show_default=False)]
AsMarkdown = Annotated[
    str | None, typer.Option("--markdown", metavar="ID", help="Print this thread as Markdown with footnotes.")
]


def threads(
    context: typer.Context, words: ThreadWords = "", *, markdown: AsMarkdown = None, as_json: AsObject = False
) -> None:
    """List your conversations of the last 30 days by id, or print one as Markdown."""
    with session_of(context).client() as client:
        found = client.threads(words) if markdown is None else client.thread_markdown(markdown)
    if as_json:
        say_body(found.raw)
    elif markdown is not None:
        say(found["markdown"].rstrip("\n"))
    else:
        rows = [
            (each["thread_id"], each["name"], each["answers_total"], "shared" * each["shared"], each["updated_at"])
            for each in found["threads"]
        ]
        say_table(("id", "name", "answers", "shared", "changed"), rows)


def _of_another_version(client: RagdropClient, document: Mapping[str, Any]) -> dict[str, Any] | None:
    """A document of a receipt that has another live version now; None where it has the same."""
    record: Mapping[str, Any] = {"live_version_id": None, "status": "gone"}
    with suppress(DocumentNotFoundError):
        record = client.get_document(document["vault"], document["path"])
    if record["live_version_id"] == document["version_id"]:
        return None
    now = {name: record[name] for name in ("live_version_id", "status")}
    return {"key": document["key"], "version_id": document["version_id"], **now}


def _show_text(found: Mapping[str, Any], receipt: Mapping[str, Any], differs: str) -> None:
    say(one_line(receipt["question"]), style="bold")
    say("The same answer." if found["same"] else differs)
    for line in found["text"]:
        say(line, style="red" if line.startswith("-") else "green", indent=2)


def _show_replay(found: Mapping[str, Any], receipt: Mapping[str, Any]) -> None:
    _show_text(found, receipt, "The answer differs.")
    for title, name in (("Citations gone", "citations_gone"), ("New citations", "citations_new")):
        if found[name]:
            say(title, style="bold")
        for citation in found[name]:
            say(joined(citation["key"], span(citation), f'"{one_line(citation["quote"])}"'), indent=2)
    if found["documents_changed"]:
        say("Documents changed since", style="bold")
    for document in found["documents_changed"]:
        version = f"{document['version_id']} -> {document['live_version_id'] or document['status']}"
        say(joined(document["key"], version), indent=2)
    for name in ("answers_question", "model", "prompt_version"):
        if found[name]["before"] != found[name]["after"]:
            say(f"{name}: {found[name]['before']} -> {found[name]['after']}")
    if found["left_out"]:
        note(f"warning: asked without the request's own {' and '.join(found['left_out'])}, which no receipt keeps")
    if found["shortened"]:
        note("warning: the receipt was too large and is not whole; what is missing in it is shown as new")


VERSIONS = 20  # of a document that are looked through for what changed since


def diff(context: typer.Context, answer_id: AnswerId, *, as_json: AsObject = False) -> None:
    """Ask the question of an answer as of then and now, and show what differs and which documents' changes explain it.

    Both are asked now, so that another model or prompt is no difference.  Ends with 0 where the answers are the same,
    with 1 where they are not.
    """
    with session_of(context).client() as client:
        receipt = client.answer(answer_id)
        request = question_again(receipt)
        moment = str(request.pop("as_of", None) or receipt["created_at"])
        then, now = client.ask(**request, as_of=moment), client.ask(**request)
        changed = [each for each in _documents(then, now) if _changed(client, each, moment)]
    found = {
        "answer_id": answer_id,
        "as_of": moment,
        "same": then["answer"] == now["answer"],
        "then": {"answer_id": then.get("answer_id"), "answer": then["answer"]},
        "now": {"answer_id": now.get("answer_id"), "answer": now["answer"]},
        "text": text_difference(then["answer"], now["answer"]),
        "explained_by": explained(then, now, changed),
        "documents_changed": changed,
    }
    if as_json:
        say(json.dumps(found, ensure_ascii=False))
    else:
        _show_diff(found, receipt)
    if not found["same"]:
        raise typer.Exit(FAILED)


def _documents(*answers: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The documents that the answers cite, or were shown, each once; those cited first."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for answer in answers:
        for citation in answer["citations"]:
            _, vault, path = citation["key"].split("/", 2)
            found.setdefault((vault, path), {"vault": vault, "path": path, "key": citation["key"]})
    for answer in answers:
        for source in answer["sources"]:
            vault, path = source["vault"], source["path"]
            found.setdefault((vault, path), {"vault": vault, "path": path, "key": f"{vault}/{path}"})
    return list(found.values())


def _changed(client: RagdropClient, document: dict[str, Any], moment: str) -> bool:
    """Whether a document changed since; what changed is added to it."""
    try:
        versions = client.history(document["vault"], document["path"], changes=True, limit=VERSIONS)["versions"]
    except DocumentNotFoundError:
        document |= {"status": "gone", "versions": [], "added": [], "removed": []}
        return True
    since = [each for each in versions if each["modified_at"] > moment and each["status"] not in {"pending", "failed"}]
    document |= {
        "status": versions[0]["status"] if versions else "gone",
        "versions": [
            {name: each[name] for name in ("version_id", "modified_at", "status", "written_by")} for each in since
        ],
        "added": [passage for each in since for passage in each.get("added") or ()],
        "removed": [passage for each in since for passage in each.get("removed") or ()],
    }
    return bool(since)


def _show_diff(found: Mapping[str, Any], receipt: Mapping[str, Any]) -> None:
    _show_text(found, receipt, f"The answer differs from that of {found['as_of']}.")
    if found["explained_by"]:
        say("Explained by", style="bold")
    elif not found["same"]:
        note("no document that either answer stands on has changed: the model said it in other words")
    for document in found["explained_by"]:
        by = sorted({str(each["written_by"]) for each in document["versions"] if each["written_by"]})
        say(f"{document['vault']}/{document['path']}: {document['why']}", indent=2)
        for each in document["versions"]:
            say(f"{each['status']} {each['modified_at']} {each['version_id'] or ''}".rstrip(), indent=4)
        if by:
            say(f"by {', '.join(by)}", indent=4)
        for sign, name, style in (("-", "removed", "red"), ("+", "added", "green")):
            for passage in document[name]:
                say(f"{sign} {one_line(passage)}", style=style, indent=4)
