"""`ragdrop search`, `ragdrop ask` and `ragdrop verify`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ragdrop.errors import InvalidParamsError
from ragdrop_cli.answers import show_answer, show_results, show_verified
from ragdrop_cli.live_answer import show_stream
from ragdrop_cli.options import AsJson, AsOf, InStage, ManyVaults, as_rfc3339
from ragdrop_cli.output import say_reply
from ragdrop_cli.session import session_of, vault_list

Query = Annotated[str, typer.Argument(help="What to look for, in plain words.", show_default=False)]
Limit = Annotated[
    int | None, typer.Option("--limit", help="How many documents, 1 to 20.", show_default="the service chooses")
]


Words = list[str] | None
Folders = Annotated[Words, typer.Option("--folder", help="Only this folder: a/b or vault/a/b.", show_default="all")]
Preferred = Annotated[Words, typer.Option("--prefer-folder", help="This folder first.", show_default="none")]
DocTypes = Annotated[Words, typer.Option("--doc-type", help="Only this type.", show_default="all")]
Tags = Annotated[Words, typer.Option("--tag", help="Only documents with one of these tags.", show_default="all")]
MinRelevance = Annotated[
    float | None, typer.Option("--min-relevance", help="0 to 1, calibrated.", show_default="settings decide")
]
Expand = Annotated[
    str | None, typer.Option("--expand", help="auto, neighbours or document.", show_default="the service chooses")
]
Critical = Annotated[bool, typer.Option("--critical/--no-critical", help="Always include critical documents.")]
Links = Annotated[bool, typer.Option("--links/--no-links", help="Follow links of what was found.")]
Stream = Annotated[bool, typer.Option("--stream/--no-stream", help="Print the answer as it comes.")]
Sentences = Annotated[bool, typer.Option("--sentences", help="List each sentence with the verdict of its check.")]
Debug = Annotated[bool, typer.Option("--debug", help="Say of every candidate why it was kept or dropped.")]


def search(
    context: typer.Context,
    query: Query,
    vault: ManyVaults = None,
    limit: Limit = None,
    folder: Folders = None,
    prefer_folder: Preferred = None,
    doc_type: DocTypes = None,
    tag: Tags = None,
    min_relevance: MinRelevance = None,
    expand: Expand = None,
    as_of: AsOf = None,
    stage: InStage = None,
    *,
    critical: Critical = True,
    links: Links = True,
    debug: Debug = False,
    as_json: AsJson = False,
) -> None:
    """Find documents and show where the matching text stands."""
    session = session_of(context)
    fields: dict[str, Any] = {
        "vaults": vault_list(vault),
        "limit": limit,
        "folders": folder or None,
        "prefer_folders": prefer_folder or None,
        "doc_types": doc_type or None,
        "tags": tag or None,
        "min_relevance": min_relevance,
        "expand": expand,
        "as_of": as_rfc3339(session, as_of),
        "stage": stage,
        "include_critical": None if critical else False,
        "follow_links": None if links else False,
        "debug": debug or None,
    }
    with session.client() as client:
        reply = client.search(query, **fields)
    if as_json:
        say_reply(reply)
    else:
        show_results(reply)


def ask(
    context: typer.Context,
    query: Query,
    vault: ManyVaults = None,
    limit: Limit = None,
    as_of: AsOf = None,
    stage: InStage = None,
    *,
    stream: Stream = True,
    sentences: Sentences = False,
    as_json: AsJson = False,
) -> None:
    """Answer a question from the documents, with a footnote for every source."""
    session = session_of(context)
    moment = as_rfc3339(session, as_of)
    fields: dict[str, Any] = {"vaults": vault_list(vault), "limit": limit, "as_of": moment, "stage": stage}
    with session.client() as client:
        if as_json:
            say_reply(client.ask(query, **fields))
        elif stream:
            show_stream(client.ask_stream(query, **fields), sentences=sentences)
        else:
            show_answer(client.ask(query, **fields), sentences=sentences)


AnswerFile = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="The answer as text, with --source; or JSON with answer and sources[{id, text}]. - reads standard input.",
        show_default=False,
    ),
]
SourceFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--source",
        help="A text that it may stand on; may be given several times. [2] names the second.",
        dir_okay=False,
    ),
]


def verify(context: typer.Context, file: AnswerFile, source: SourceFiles = None, *, as_json: AsJson = False) -> None:
    """Check each sentence of an answer, whoever wrote it, against the texts that it was written from."""
    text = sys.stdin.read() if file == "-" else _read(Path(file))
    if source:
        answer, sources = text, [{"id": str(path), "text": _read(path)} for path in source]
    else:
        answer, sources = _given(text)
    with session_of(context).client() as client:
        reply = client.verify(answer, sources)
    if as_json:
        say_reply(reply)
    else:
        show_verified(reply)


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        raise InvalidParamsError(f"{path} cannot be read as text: {exc}") from exc


def _given(text: str) -> tuple[str, list[dict[str, str]]]:
    """Answer and sources of a file in the shape of the API's request."""
    try:
        held = json.loads(text)
        return held["answer"], held["sources"]
    except (ValueError, KeyError, TypeError) as exc:
        message = "without --source the file must be JSON with `answer` and `sources`, each with `id` and `text`"
        raise InvalidParamsError(message) from exc
