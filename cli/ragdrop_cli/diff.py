"""`ragdrop diff`: an answer of before against the answer of now, and the change of a document that explains it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from ragdrop.client import RagdropClient
from ragdrop.errors import DocumentNotFoundError
from ragdrop_cli.failures import FAILED
from ragdrop_cli.options import AsObject
from ragdrop_cli.output import note, one_line, say
from ragdrop_cli.replaying import explained, question_again, text_difference
from ragdrop_cli.session import session_of

VERSIONS = 20  # of a document that are looked through for what changed since

AnswerId = Annotated[str, typer.Argument(help="The answer_id of an answer of the last 30 days.", show_default=False)]


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
        _show(found, receipt)
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


def _show(found: Mapping[str, Any], receipt: Mapping[str, Any]) -> None:
    say(one_line(receipt["question"]), style="bold")
    say("The same answer." if found["same"] else f"The answer differs from that of {found['as_of']}.")
    for line in found["text"]:
        say(line, style="red" if line.startswith("-") else "green", indent=2)
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
