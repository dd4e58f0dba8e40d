"""`ragdrop search`, `ragdrop ask` and `ragdrop verify`, and how their replies are shown."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from ragdrop.client.events import AnswerEvent, Done, Said
from ragdrop.errors import InvalidParamsError
from ragdrop_cli.options import AsJson, AsOf, InStage, ManyVaults, as_rfc3339
from ragdrop_cli.output import clean, note, one_line, say, say_body
from ragdrop_cli.session import session_of, vault_list

EXCERPT_CHARS = 300
MAX_EARLIER = 20_000  # characters of an answer in `history`
EXTRACTIVE = "ragdrop-extractive"  # the laptop's answerer
EXTRACTIVE_NOTICE = "Extractive answer: sentences quoted from the sources; no language model is configured."


def heading(path: object) -> str:
    """A heading path on one line."""
    return " > ".join(str(part) for part in path) if isinstance(path, list | tuple) else str(path or "")


def span(fields: Mapping[str, Any]) -> str:
    """Where a piece of text stands, in characters of the parsed text, the end excluded."""
    start, end = fields.get("start"), fields.get("end")
    return "" if start is None or end is None else f"characters {start}-{end}"


def joined(*parts: object) -> str:
    """The parts that say something, two blanks between them."""
    return "  ".join(one_line(part) for part in parts if part not in {None, ""})


def show_results(body: Mapping[str, Any]) -> None:
    """Print the body of `POST /search`."""
    _show_documents(body.get("results"))
    if not body.get("results"):
        say("Nothing found.")
        _show_nearest(body)
    _show_documents(body.get("critical"), "Always included")
    _show_documents(body.get("linked"), "Linked")
    matches, indexed, latency_ms = body.get("total_matches"), body.get("total_indexed"), body.get("latency_ms")
    say(f"{len(body.get('results') or [])} of {matches} matches in {indexed} documents, {latency_ms} ms", style="dim")
    _show_reranking(body.get("reranking"))
    for candidate in (body.get("debug") or {}).get("candidates") or []:
        _show_candidate(candidate)
    show_flags(body)


ORDERS = {
    "no_reader": "this deployment has no reader (READER_URL)",
    "language": "the reader does not read this language",
    "not_read": "the reader did not answer",
}


def _show_reranking(found: Mapping[str, Any] | None) -> None:
    """Who ordered the results, where that was asked."""
    if not found or found["status"] == "nothing_found":
        return
    why = ORDERS.get(found["status"])
    say(f"In the order of the search: {why}" if why else f"Ordered by {found['model']}", style="dim")


def _show_documents(documents: Sequence[Mapping[str, Any]] | None, title: str = "") -> None:
    if documents and title:
        say(title, style="bold")
    for number, document in enumerate(documents or [], start=1):
        _show_document(number, document)


def _show_nearest(body: Mapping[str, Any]) -> None:
    """The closest documents where nothing answers, and how to widen the search."""
    nearest = body.get("nearest") or []
    if not nearest:
        return
    say()
    say("Closest documents, which may not answer it", style="bold")
    for document in nearest:
        say(joined(*_scored(document)), indent=4)
    say("Ask in other words, or search with --min-relevance 0 to see more.", style="dim")


def _show_verdict(body: Mapping[str, Any]) -> None:
    """Whether an answer answers its question, where that is known."""
    verdict = body.get("answers_question") or {"status": "unchecked"}
    if verdict["status"] != "unchecked":
        say(joined(f"(answers the question: {verdict['status']})", verdict.get("reason")), style="dim")


def _show_closest(body: Mapping[str, Any]) -> None:
    """The closest passages where nothing answers, and how to get an answer from them."""
    if not (closest := body.get("closest")):
        return
    say()
    say("Closest passages; nothing confirms that they answer", style="bold")
    for passage in closest:
        say(one_line(passage.get("quote") or "", limit=EXCERPT_CHARS), indent=4)
        say(joined(f"{passage.get('vault')}/{passage.get('path')}", span(passage)), indent=4, style="dim")
    say("Ask in other words, or with --anyway to get an answer from these.", style="dim")


def _show_candidate(candidate: Mapping[str, Any]) -> None:
    relevance = candidate.get("relevance")
    worth = f"{relevance:.2f}" if isinstance(relevance, int | float) else "-"
    name = f"{candidate.get('vault')}/{candidate.get('path')}"
    say(joined(f"{candidate.get('rank') or '-':>3}", worth, name, candidate.get("reason")), style="dim")


def _scored(document: Mapping[str, Any]) -> tuple[object, ...]:
    score = document.get("score")
    shown = f"{score:.2f}" if isinstance(score, int | float) else ""
    return shown, f"{document.get('vault')}/{document.get('path')}", document.get("title")


def _show_document(number: int, document: Mapping[str, Any]) -> None:
    say(joined(f"{number:>2}.", *_scored(document)), style="bold")
    if document.get("linked_from"):
        say(joined("linked from", document["linked_from"], document.get("link_text")), indent=4)
    chunks = document.get("chunks") or []
    for chunk in chunks[:1]:
        say(joined(heading(chunk.get("heading_path")), span(chunk)), indent=4, style="dim")
        say(one_line(chunk.get("text") or "", limit=EXCERPT_CHARS), indent=4)
    if not chunks and document.get("text"):
        say(one_line(document["text"], limit=EXCERPT_CHARS), indent=4)
    say()


def show_answer(body: Mapping[str, Any], *, sentences: bool = False) -> None:
    """Print the body of `POST /ask`: the answer, then a footnote for each citation."""
    say(str(body.get("answer") or ""))
    show_sources(body, sentences=sentences)


def show_sources(body: Mapping[str, Any], *, sentences: bool = False) -> None:
    """Print what stands under an answer: why there is none, a footnote for each citation, and flags.

    The verdicts of the check are counted; with *sentences* each sentence is listed with its verdict.
    """
    if body.get("abstained"):
        say(f"(no answer: {body.get('abstain_reason')})", style="dim")
        _show_closest(body)
    else:
        _show_verdict(body)
    citations = body.get("citations") or []
    if citations:
        say()
        say("Sources", style="bold")
    for citation in citations:
        marker = str(citation.get("marker", "")).strip("[]")
        status = citation.get("status")
        doubt = f"({status})" if status not in {None, "verified"} else "(attributed)" * bool(citation.get("attributed"))
        place = joined(citation.get("key"), span(citation), heading(citation.get("heading_path")), doubt)
        say(f"[{marker}] {place}")
        if citation.get("quote"):
            say(f'"{one_line(citation["quote"], limit=2 * EXCERPT_CHARS)}"', indent=4, style="italic")
    checked = body.get("sentences") or []
    if checked:
        say()
        say("Sentences" if sentences else _verdicts(checked), style="bold" if sentences else "dim")
    for sentence in checked if sentences else ():
        _show_sentence(sentence)
    say()
    if body.get("model") == EXTRACTIVE:
        say(EXTRACTIVE_NOTICE, style="dim")
    say(joined(body.get("model"), f"answer {body['answer_id']}" if body.get("answer_id") else ""), style="dim")
    show_flags(body)


def _verdicts(checked: Sequence[Mapping[str, Any]]) -> str:
    """How many sentences have which verdict, and how to see them."""
    counts = Counter(str(sentence.get("status")).replace("_", " ") for sentence in checked)
    return f"Sentences: {', '.join(f'{count} {name}' for name, count in counts.items())} (--sentences lists them)"


STYLES = {"verified": "green", "supported": "cyan", "contradicted": "red", "unsupported": "yellow"}


def show_verified(body: Mapping[str, Any]) -> None:
    """Print the body of `POST /v1/verify`: each sentence with its status, and the passage that decided."""
    _show_verdict(body)
    for sentence in body.get("sentences") or []:
        _show_sentence(sentence)
        for proof in sentence.get("evidence") or []:
            say(joined(proof["source"], span(proof), f'"{one_line(proof["quote"], limit=EXCERPT_CHARS)}"'), indent=18)
    show_flags(body)


def _show_sentence(sentence: Mapping[str, Any]) -> None:
    reason = f"({sentence['reason']})" if sentence.get("reason") else ""
    status = str(sentence.get("status")).replace("_", " ")
    say(f"{status:13} {joined(sentence['text'], reason)}", indent=4, style=STYLES.get(status, "dim"))


def show_flags(body: Mapping[str, Any]) -> None:
    """Print on standard error what was asked for and is missing."""
    if body.get("degraded") or body.get("fallback"):
        note(f"warning: degraded, level {body.get('fallback_level')}, served by {body.get('served_by')}")
    for warning in body.get("warnings") or []:
        note(f"warning: {one_line(warning)}")


def show_stream(events: Iterator[AnswerEvent], *, sentences: bool = False) -> None:
    """Print the pieces of an answer, then what stands under it; an abstention that comes last stands alone."""
    said = False
    try:
        for event in events:
            if isinstance(event, Said):
                typer.echo(clean(event.text), nl=False)
                said = True
            elif isinstance(event, Done):
                if said:
                    typer.echo()
                said, printed = False, said
                _finish(event, printed=printed, sentences=sentences)
    finally:
        if said:
            typer.echo()  # an error's line is an own line


def _finish(event: Done, *, printed: bool, sentences: bool) -> None:
    if printed and not event.answer.get("abstained"):
        show_sources(event.answer, sentences=sentences)
        return
    if printed:
        say()
    show_answer(event.answer, sentences=sentences)


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
Rerank = Annotated[bool, typer.Option("--rerank", help="Let the reader order the first results: slower, and better.")]
After = Annotated[
    Words,
    typer.Option(
        "--after",
        metavar="ANSWER_ID",
        help="An answer that the question follows up; may be given several times, the oldest first.",
        show_default="none",
    ),
]
Stream = Annotated[bool, typer.Option("--stream/--no-stream", help="Print the answer as it comes.")]
Anyway = Annotated[bool, typer.Option("--anyway", help="Answer from what is closest, even if nothing seems to answer.")]
Sentences = Annotated[bool, typer.Option("--sentences", help="List each sentence with the verdict of its check.")]
Debug = Annotated[bool, typer.Option("--debug", help="Say of every candidate why it was used or dropped.")]


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
    rerank: Rerank = False,
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
        "rerank": rerank or None,
        "debug": debug or None,
    }
    with session.client() as client:
        reply = client.search(query, **fields)
    if as_json:
        say_body(reply.raw)
    else:
        show_results(reply)


def ask(
    context: typer.Context,
    query: Query,
    vault: ManyVaults = None,
    limit: Limit = None,
    as_of: AsOf = None,
    stage: InStage = None,
    after: After = None,
    *,
    anyway: Anyway = False,
    stream: Stream = True,
    sentences: Sentences = False,
    as_json: AsJson = False,
) -> None:
    """Answer a question from the documents, with a footnote for every source."""
    session = session_of(context)
    moment = as_rfc3339(session, as_of)
    fields: dict[str, Any] = {"vaults": vault_list(vault), "limit": limit, "as_of": moment, "stage": stage}
    fields["answer_anyway"] = anyway or None
    with session.client() as client:
        said = [client.answer(answer_id) for answer_id in after or []]
        fields["history"] = [_turn(receipt) for receipt in said] or None
        if as_json:
            say_body(client.ask(query, **fields).raw)
        elif stream:
            show_stream(client.ask_stream(query, **fields), sentences=sentences)
        else:
            show_answer(client.ask(query, **fields), sentences=sentences)


def _turn(receipt: Mapping[str, Any]) -> dict[str, str]:
    """A turn of a conversation, of the receipt of its answer."""
    return {"question": receipt["question"], "answer": receipt["answer"][:MAX_EARLIER]}


AskedQuestion = Annotated[
    str | None, typer.Option("--question", help="What it answers: the check then says whether it does.")
]
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


def verify(
    context: typer.Context,
    file: AnswerFile,
    source: SourceFiles = None,
    question: AskedQuestion = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Check each sentence of an answer, whoever wrote it, against the texts that it was written from."""
    text = sys.stdin.read().removeprefix("\ufeff") if file == "-" else _read(Path(file))
    if source:
        answer, sources = text, [{"id": str(path), "text": _read(path)} for path in source]
    else:
        answer, sources = _given(text)
    with session_of(context).client() as client:
        reply = client.verify(answer, sources, question=question)
    if as_json:
        say_body(reply.raw)
    else:
        show_verified(reply)


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as exc:
        raise InvalidParamsError(f"{path} cannot be read as text: {exc}") from exc


def _given(text: str) -> tuple[str, list[dict[str, str]]]:
    """Answer and sources of a file in the shape of the API's request."""
    try:
        given = json.loads(text)
        return given["answer"], given["sources"]
    except (ValueError, KeyError, TypeError) as exc:
        message = "without --source the file must be JSON with `answer` and `sources`, each with `id` and `text`"
        raise InvalidParamsError(message) from exc
