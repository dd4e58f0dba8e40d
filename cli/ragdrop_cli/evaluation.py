"""`ragdrop eval`: how often what is expected is found."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from ragdrop import __version__
from ragdrop.client import RagdropClient
from ragdrop.errors import ConfigurationError
from ragdrop_cli.eval_feedback import write_questions
from ragdrop_cli.eval_questions import EvalQuestion, read_questions
from ragdrop_cli.eval_scores import SearchOutcome, answered, changes, measures, outcome, standing
from ragdrop_cli.failures import FAILED
from ragdrop_cli.options import AsObject, InStage, ManyVaults
from ragdrop_cli.output import note, say, say_object, say_table
from ragdrop_cli.progress import progress
from ragdrop_cli.pushing import several
from ragdrop_cli.session import session_of, vault_list

MISSES_SHOWN = 20

Place = Annotated[
    Path | None,
    typer.Argument(help="A .jsonl file of questions, or a folder in the BEIR layout.", show_default=False),
]
FromFeedback = Annotated[
    bool, typer.Option("--from-feedback", help="Write questions made of feedback to the file, or print them.")
]
Gate = Annotated[
    float | None,
    typer.Option(
        "--gate", min=0, max=1, show_default="none", help="Fail under this share of expected texts in the top 3."
    ),
]
Save = Annotated[Path | None, typer.Option("--save", help="Write this run to a file.", show_default="no")]
Compare = Annotated[Path | None, typer.Option("--compare", help="Say what changed since a run.", show_default="no")]
Answers = Annotated[
    bool, typer.Option("--answers", help="Ask for answers too, which a chat model writes, and say which changed.")
]
Limit = Annotated[int, typer.Option("--limit", min=1, max=20, help="Documents asked for; the measures are at this.")]
MinRelevance = Annotated[
    float | None,
    typer.Option("--min-relevance", min=0, max=1, help="The threshold.", show_default="the service's"),
]
Split = Annotated[str, typer.Option("--split", help="Which judgements of a BEIR folder.")]
PathFormat = Annotated[str, typer.Option("--path-format", help="The path of a BEIR document by its id.")]


def evaluate(
    context: typer.Context,
    place: Place = None,
    vault: ManyVaults = None,
    *,
    gate: Gate = None,
    save: Save = None,
    compare: Compare = None,
    limit: Limit = 10,
    min_relevance: MinRelevance = None,
    stage: InStage = None,
    answers: Answers = False,
    split: Split = "test",
    path_format: PathFormat = "{id}.md",
    from_feedback: FromFeedback = False,
    as_json: AsObject = False,
) -> None:
    """Ask questions whose answers are known, and measure how often what is expected is found.

    With --stage the questions are asked live and with the stage: the measures are the stage's, and each question that
    gets better or worse is shown; with --answers each answer that changes too.  With --from-feedback nothing is asked:
    questions are made of what callers said of answers.
    """
    if from_feedback:
        with session_of(context).client() as client:
            write_questions(client, place, as_json=as_json)
        return
    if place is None:
        raise ConfigurationError("name a file of questions, or ask for them with --from-feedback")
    questions = read_questions(place, split=split, path_format=path_format)
    before = None if compare is None else _read_run(compare)
    fields = {"vaults": vault_list(vault), "limit": limit, "min_relevance": min_relevance}
    with session_of(context).client() as client:
        if stage is not None:
            before = [asdict(one) for one in _ask_all(client, questions, fields, answers=answers)]
        outcomes = _ask_all(client, questions, {**fields, "stage": stage}, answers=answers)
    run = _run(place, limit, outcomes, questions)
    if save is not None:
        _write_run(save, run)
    if as_json:
        say_object(run if before is None else {**run, "changes": changes(before, outcomes)})
    else:
        _show(run["measures"], outcomes)
        if before is not None:
            _show_changes(changes(before, outcomes))
    _hold_gate(gate, run["measures"]["expected_in_top_3"])


def _ask_all(
    client: RagdropClient, questions: Sequence[EvalQuestion], fields: Mapping[str, Any], *, answers: bool
) -> list[SearchOutcome]:
    with progress("Asking", len(questions), unit="questions") as tell:
        done = 0

        def asked(_outcome: SearchOutcome) -> None:
            nonlocal done
            done += 1
            tell(done, len(questions))

        def ask(one: EvalQuestion) -> SearchOutcome:
            found = outcome(one, client.search(one.text, **fields), limit=fields["limit"])
            return answered(found, client.ask(one.text, **fields)) if answers else found

        return several(ask, questions, done=asked)


def _run(
    place: Path, limit: int, outcomes: Sequence[SearchOutcome], questions: Sequence[EvalQuestion]
) -> dict[str, Any]:
    return {
        "ragdrop": __version__,
        "at": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "file": place.name,
        "limit": limit,
        "measures": measures(outcomes, questions),
        "questions": [asdict(one) for one in outcomes],
    }


def _read_run(place: Path) -> list[dict[str, Any]]:
    try:
        run = json.loads(place.read_text(encoding="utf-8"))
        return [dict(one) for one in run["questions"]]
    except (OSError, ValueError, KeyError, TypeError) as exc:
        raise ConfigurationError(f"{place} is no run that --save wrote: {exc}") from exc


def _write_run(place: Path, run: Mapping[str, Any]) -> None:
    try:
        place.write_text(json.dumps(run, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    except OSError as exc:
        raise ConfigurationError(f"{place} cannot be written: {exc.strerror}") from exc


def _show(measured: Mapping[str, float | int | None], outcomes: Sequence[SearchOutcome]) -> None:
    say_table(("measure", "value"), [(name, "-" if value is None else value) for name, value in measured.items()])
    missed = [one for one in outcomes if not (one.in_top if one.answerable else one.abstained)]
    if missed:
        say()
        say(f"{len(missed)} of {len(outcomes)} are not as expected:", style="bold")
        say_table(("what came", "question"), [(standing(asdict(one)), one.question) for one in missed[:MISSES_SHOWN]])
    if len(missed) > MISSES_SHOWN:
        say(f"and {len(missed) - MISSES_SHOWN} more: --json shows all", style="dim")


def _show_changes(told: Sequence[tuple[str, str, str, str]]) -> None:
    say()
    say(f"{len(told)} questions changed" if told else "No question changed.", style="bold")
    if told:
        say_table(("change", "before", "now", "question"), [(kind, old, now, name) for kind, name, old, now in told])


def _hold_gate(gate: float | None, share: float | None) -> None:
    if gate is None:
        return
    if share is None:
        raise ConfigurationError("--gate needs questions that expect a document or a text")
    held = share >= gate
    note(f"gate {'held' if held else 'MISSED'}: {share:.1%} of what is expected is in the top 3, {gate:.0%} is wanted")
    if not held:
        raise typer.Exit(FAILED)
