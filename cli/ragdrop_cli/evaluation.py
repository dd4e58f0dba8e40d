"""`ragdrop eval` and `ragdrop canary`: how often what is expected is found."""

from __future__ import annotations

import datetime
import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from ragdrop import __version__
from ragdrop.client import RagdropClient
from ragdrop.errors import ConfigurationError
from ragdrop.operate.evaluation import hit, mean, ndcg, recall, reciprocal_rank
from ragdrop_cli.eval_prompts import compare_prompts, prompts_by_name
from ragdrop_cli.eval_questions import EvalQuestion, folded, read_questions, write_file, write_questions
from ragdrop_cli.options import AsObject, InStage, ManyVaults
from ragdrop_cli.output import FAILED, UNREACHABLE, note, progress, say, say_object, say_table
from ragdrop_cli.pushing import several
from ragdrop_cli.session import session_of, vault_list

TOP = 3  # where the gate wants what is expected


@dataclass(frozen=True, slots=True)
class SearchOutcome:
    """What one search found.

    `place` is that of the first expected document, `text_place` of the first document that shows the expected text,
    both from 1; None where it did not come, or was not asked for.  The shares are in [0, 1].  `answer` is None
    unless one was asked for; `cited` are its documents.
    """

    id: str
    question: str
    answerable: bool
    found: list[str]
    place: int | None
    text_place: int | None
    in_top: bool
    abstained: bool
    recall: float
    reciprocal_rank: float
    ndcg: float
    answer: str | None = None
    cited: tuple[str, ...] = ()


def outcome(question: EvalQuestion, reply: Mapping[str, Any], *, limit: int) -> SearchOutcome:
    """Judge the reply of `POST /search`; critical documents count where their own score puts them."""
    shown = sorted(
        [*(reply.get("results") or []), *(reply.get("critical") or [])], key=lambda one: -float(one.get("score") or 0)
    )
    found = list(dict.fromkeys(_expected_name(question, document) for document in shown))
    text_place = next((n for n, one in enumerate(shown, start=1) if _shows(one, question.expected_text)), None)
    place = next((n for n, name in enumerate(found, start=1) if name in question.documents), None)
    decisive = text_place if question.expected_text else place
    return SearchOutcome(
        id=question.id,
        question=question.text,
        answerable=question.answerable,
        found=found,
        place=place,
        text_place=text_place,
        in_top=decisive is not None and decisive <= TOP,
        abstained=bool(reply.get("abstained")),
        recall=recall(found, question.documents, at=limit),
        reciprocal_rank=reciprocal_rank(found, question.documents),
        ndcg=ndcg(found, question.documents, at=limit),
    )


def measures(outcomes: Sequence[SearchOutcome], questions: Sequence[EvalQuestion]) -> dict[str, float | int | None]:
    """The means over all questions; None where there is none of the kind that a measure is over."""
    pairs = list(zip(outcomes, questions, strict=True))
    placed = [(one, asked) for one, asked in pairs if asked.documents]
    expecting = [one for one, asked in pairs if asked.answerable]
    unanswerable = [one for one, asked in pairs if not asked.answerable]
    return {
        "questions": len(pairs),
        "answerable": len(expecting),
        "expected_in_top_3": _mean([one.in_top for one in expecting]),
        "hit_rate_at_1": _mean([hit(one.found, asked.documents, at=1) for one, asked in placed]),
        "hit_rate_at_3": _mean([hit(one.found, asked.documents, at=TOP) for one, asked in placed]),
        "recall": _mean([one.recall for one, _ in placed]),
        "mrr": _mean([one.reciprocal_rank for one, _ in placed]),
        "ndcg": _mean([one.ndcg for one, _ in placed]),
        "abstained_rightly": _mean([one.abstained for one in unanswerable]),
        "abstained_wrongly": _mean([one.abstained for one in expecting]),
    }


def changes(before: Sequence[Mapping[str, Any]], after: Sequence[SearchOutcome]) -> list[tuple[str, str, str, str]]:
    """The questions that changed since a saved run, worse ones first: what happened, question, place before, place now.

    Where both runs have answers, one that has another text or cites other documents is a change too: `answer`,
    question, the answer before, the answer now.
    """
    known = {str(one.get("question")): one for one in before}
    found = []
    for one in after:
        old = known.pop(one.question, None)
        now = asdict(one)
        if old is None:
            found.append(("new", one.question, "-", standing(now)))
        elif standing(old) != standing(now):
            found.append(
                ("worse" if _worth(now) < _worth(old) else "better", one.question, standing(old), standing(now))
            )
        if old is not None and None not in {old.get("answer"), one.answer} and _answer_of(old) != _answer_of(now):
            found.append(("answer", one.question, _answer_of(old), _answer_of(now)))
    found += [("gone", name, standing(old), "-") for name, old in known.items()]
    return sorted(found, key=lambda change: ("worse", "better", "answer", "new", "gone").index(change[0]))


def standing(one: Mapping[str, Any]) -> str:
    """The place of what was expected, in words."""
    if one.get("abstained"):
        return "abstained"
    if not one.get("answerable"):
        return "answered"
    place = one.get("text_place") or one.get("place")
    return f"place {place}" if place else "not found"


def _answer_of(one: Mapping[str, Any]) -> str:
    return f"{one['answer']} [{', '.join(one['cited'])}]"


def _worth(one: Mapping[str, Any]) -> float:
    if not one.get("answerable"):
        return 1.0 if one.get("abstained") else 0.0
    place = one.get("text_place") or one.get("place")
    return 1.0 / place if place and not one.get("abstained") else 0.0


def _expected_name(question: EvalQuestion, document: Mapping[str, Any]) -> str:
    """`vault/path`, or the path alone where the question names it so."""
    path = str(document.get("path"))
    return path if path in question.documents else f"{document.get('vault')}/{path}"


def _shows(document: Mapping[str, Any], expected: str | None) -> bool:
    if not expected:
        return False
    texts = [document.get("text"), *(chunk.get("text") for chunk in document.get("chunks") or [])]
    return any(folded(expected) in folded(str(text)) for text in texts if text)


def _mean(values: Sequence[float]) -> float | None:
    return round(mean([float(value) for value in values]), 4) if values else None


MISSES_SHOWN = 20

Place = Annotated[
    Path | None,
    typer.Argument(
        help="A .jsonl file of questions, a settings file that has golden ones, or a BEIR folder.", show_default=False
    ),
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
    float | None, typer.Option("--min-relevance", min=0, max=1, help="The threshold.", show_default="the service's")
]
Prompts = Annotated[
    list[str] | None,
    typer.Option(
        "--prompt", help="Ask with this prompt: a file, or `current`; may be given several times.", show_default="none"
    ),
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
    prompt: Prompts = None,
    split: Split = "test",
    path_format: PathFormat = "{id}.md",
    from_feedback: FromFeedback = False,
    as_json: AsObject = False,
) -> None:
    """Ask questions whose answers are known, and measure how often what is expected is found.

    With --stage the questions are asked live and with the stage: the measures are the stage's, and each question that
    gets better or worse is shown; with --answers each answer that changes too.  With --prompt A --prompt B each prompt
    answers them, side by side; that needs a key of an admin.  With --from-feedback nothing is asked: questions are made
    of what callers said of answers.
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
    if prompt:
        if compare is not None or answers:
            raise ConfigurationError("--prompt compares answers already: leave out --compare and --answers")
        prompts = prompts_by_name(prompt)
        with session_of(context).client() as client:
            compare_prompts(client, questions, prompts, {**fields, "stage": stage}, gate, save, as_json=as_json)
        return
    with session_of(context).client() as client:
        if stage is not None:
            before = [asdict(one) for one in _ask_all(client, questions, fields, answers=answers)]
        outcomes = _ask_all(client, questions, {**fields, "stage": stage}, answers=answers)
    run = {
        "ragdrop": __version__,
        "at": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "file": place.name,
        "limit": limit,
        "measures": (measured := measures(outcomes, questions)),
        "questions": [asdict(one) for one in outcomes],
    }
    if save is not None:
        write_file(save, json.dumps(run, ensure_ascii=False, indent=1) + "\n")
    if as_json:
        say_object(run if before is None else {**run, "changes": changes(before, outcomes)})
    else:
        _show(measured, outcomes)
        if before is not None:
            _show_changes(changes(before, outcomes))
    if gate is not None:
        _hold_gate(gate, measured["expected_in_top_3"])


def _ask_all(
    client: RagdropClient, questions: Sequence[EvalQuestion], fields: Mapping[str, Any], *, answers: bool
) -> list[SearchOutcome]:
    asked = itertools.count(1)

    def ask(one: EvalQuestion) -> SearchOutcome:
        found = outcome(one, client.search(one.text, **fields), limit=fields["limit"])
        if not answers:
            return found
        reply = client.ask(one.text, **fields)
        cited = dict.fromkeys(str(each["key"]).partition("/")[2] for each in reply.get("citations") or [])
        return replace(found, answer=str(reply.get("answer")), cited=tuple(cited))

    with progress("Asking", len(questions), unit="questions") as show:
        return several(ask, questions, done=lambda _outcome: show(next(asked), len(questions)))


def _read_run(place: Path) -> list[dict[str, Any]]:
    try:
        run = json.loads(place.read_text(encoding="utf-8"))
        return [dict(one) for one in run["questions"]]
    except (OSError, ValueError, KeyError, TypeError) as exc:
        raise ConfigurationError(f"{place} is no run that --save wrote: {exc}") from exc


def _show(measured: Mapping[str, float | int | None], outcomes: Sequence[SearchOutcome]) -> None:
    say_table(("measure", "value"), [(name, "-" if value is None else value) for name, value in measured.items()])
    missed = [one for one in outcomes if not (one.in_top if one.answerable else one.abstained)]
    if missed:
        say()
        say(f"{len(missed)} of {len(outcomes)} are not as expected:", style="bold")
        say_table(("what came", "question"), [(standing(asdict(one)), one.question) for one in missed[:MISSES_SHOWN]])
    if len(missed) > MISSES_SHOWN:
        say(f"and {len(missed) - MISSES_SHOWN} more: --json shows all", style="dim")


def _show_changes(found: Sequence[tuple[str, str, str, str]]) -> None:
    say()
    say(f"{len(found)} questions changed" if found else "No question changed.", style="bold")
    if found:
        say_table(("change", "before", "now", "question"), [(kind, old, now, name) for kind, name, old, now in found])


def _hold_gate(gate: float, share: float | None) -> None:
    if share is None:
        raise ConfigurationError("--gate needs questions that expect a document or a text")
    verdict = "met" if share >= gate else "MISSED"
    note(f"gate {verdict}: {share:.1%} of what is expected is in the top 3, {gate:.0%} is required")
    if share < gate:
        raise typer.Exit(FAILED)


GoldenGate = Annotated[
    float | None,
    typer.Option("--gate", min=0, max=1, show_default="none", help="Fail under this share of answered questions too."),
]


def canary(
    context: typer.Context, vault: ManyVaults = None, *, gate: GoldenGate = None, as_json: AsObject = False
) -> None:
    """Ask the golden questions that the settings of vaults name, and compare with the last time.

    The exit code is 1 where a question is not answered any more that once was, or where the share is under the gate; 3
    where questions could not be asked.
    """
    with session_of(context).client() as client:
        vaults = vault_list(vault) or [each["vault"] for each in client.canaries()["canaries"]]
        replies = [client.run_canaries(name) for name in vaults]
    runs = [{name: value for name, value in reply.items() if name != "request_id"} for reply in replies]
    if as_json:
        say_object({"canaries": runs})
    else:
        _show_golden(runs)
    _hold(runs, gate)


def _show_golden(runs: Sequence[Mapping[str, Any]]) -> None:
    names = ("vault", "questions", "answered")
    rows = [(*(run[name] for name in names), len(run["dropped"]), run["not_measured"] or "") for run in runs]
    say_table((*names, "dropped", "not measured"), rows)
    for run in runs:
        for each in run["outcomes"]:
            if not each["answered"]:
                state = "dropped" if each["dropped"] else "unknown" if each["answered"] is None else "failed"
                say(f"{state:<7}  {run['vault']}: {each['question']} (expects {each['expected']})", indent=2)


def _hold(runs: Sequence[Mapping[str, Any]], gate: float | None) -> None:
    questions, answered = (sum(run[name] for run in runs) for name in ("questions", "answered"))
    if gate is not None and not questions:
        raise ConfigurationError("--gate needs golden questions: no vault's .ragdrop.json has any (docs/evaluation.md)")
    dropped = sum(len(run["dropped"]) for run in runs)
    low = gate is not None and answered < gate * questions
    if dropped:
        note(f"{dropped} golden questions are not answered any more")
    if gate is not None:
        shown = f"{answered} of {questions} golden questions are answered, {gate:.0%} is required"
        note(f"gate {'MISSED' if low else 'met'}: {shown}")
    if any(run["not_measured"] for run in runs):
        note("some questions could not be asked: nothing can be said of them")
        raise typer.Exit(FAILED if dropped else UNREACHABLE)
    if dropped or low:
        raise typer.Exit(FAILED)
