"""`ragdrop replay`: ask a question of before once more, and show what differs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from ragdrop.client import RagdropClient
from ragdrop.errors import DocumentNotFoundError
from ragdrop_cli.answers import joined, span
from ragdrop_cli.failures import FAILED
from ragdrop_cli.options import AsObject
from ragdrop_cli.output import note, one_line, say
from ragdrop_cli.replaying import difference, question_again
from ragdrop_cli.session import session_of

AnswerId = Annotated[str, typer.Argument(help="The answer_id of an answer of the last 30 days.", show_default=False)]


def replay(context: typer.Context, answer_id: AnswerId, *, as_json: AsObject = False) -> None:
    """Answer a question of the last 30 days again and show what differs: text, citations, documents.

    Ends with 0 where text and citations are the same, with 1 where they are not.
    """
    with session_of(context).client() as client:
        receipt = client.answer(answer_id)
        answer = client.ask(**question_again(receipt))
        records = {document["key"]: _record(client, document) for document in receipt["documents"]}
    found = difference(receipt, answer, records)
    if as_json:
        say(json.dumps(found, ensure_ascii=False))
    else:
        _show(found, receipt)
    if not found["same"]:
        raise typer.Exit(FAILED)


def _record(client: RagdropClient, document: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the document is now."""
    try:
        return client.get_document(document["vault"], document["path"])
    except DocumentNotFoundError:
        return {"live_version_id": None, "status": "gone"}


def _show(found: Mapping[str, Any], receipt: Mapping[str, Any]) -> None:
    say(one_line(receipt["question"]), style="bold")
    say("The same answer." if found["same"] else "The answer differs.")
    for line in found["text"]:
        say(line, style="red" if line.startswith("-") else "green", indent=2)
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
    for name in ("model", "prompt_version"):
        if found[name]["before"] != found[name]["after"]:
            say(f"{name}: {found[name]['before']} -> {found[name]['after']}")
    if found["left_out"]:
        note(f"warning: asked without the request's own {' and '.join(found['left_out'])}, which no receipt keeps")
    if found["shortened"]:
        note("warning: the receipt was too large and is not whole; what is missing in it is shown as new")
