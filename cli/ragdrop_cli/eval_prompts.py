"""`ragdrop eval --prompt A --prompt B`: the same questions answered with several prompts, side by side."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import typer

from ragdrop import __version__
from ragdrop.client import RagdropClient
from ragdrop.errors import ConfigurationError, InvalidParamsError
from ragdrop_cli.eval_questions import EvalQuestion, folded, json_object, write_file
from ragdrop_cli.output import FAILED, note, progress, say, say_object, say_table
from ragdrop_cli.pushing import several

CURRENT = "current"  # the name of the prompt that is in force
PROMPT_FIELDS = ("system_prompt", "prompt_template")
_USES_SOURCES = re.compile(r"\{[{%][^}]*\bsources\b")


def read_prompt(name: str) -> dict[str, str]:
    """The fields of `POST /ask` that ask with a prompt; none for `current`.

    A `.json` file has `system_prompt`, `prompt_template` or both, as a settings file has them.  Any other file is a
    template if it uses `sources`, else a system prompt.

    Raises ConfigurationError: there is no such file, it cannot be read, or it holds no prompt.
    """
    if name == CURRENT:
        return {}
    place = Path(name)
    try:
        text = place.read_text(encoding="utf-8-sig")
    except OSError as exc:
        raise ConfigurationError(f"there is no prompt {name}: {exc.strerror}; name a file, or {CURRENT}") from exc
    except UnicodeDecodeError as exc:
        raise ConfigurationError(f"the prompt {name} is no text in UTF-8") from exc
    if place.suffix == ".json":
        found = {field: value for field, value in json_object(text, name).items() if field in PROMPT_FIELDS and value}
    else:
        found = {PROMPT_FIELDS[_USES_SOURCES.search(text) is not None]: text} if text.strip() else {}
    if not found or not all(isinstance(value, str) for value in found.values()):
        raise ConfigurationError(f"{name} holds no prompt: a text, or JSON with {' or '.join(PROMPT_FIELDS)}")
    return found


@dataclass(frozen=True, slots=True)
class PromptOutcome:
    """What came of one question with one prompt.

    `fact_found` is None where no text is expected, `cited_right` where no document is; `is_true` says that no sentence
    lacks support.  `right` is the expected text, else a citation of an expected document; with neither an abstention.
    """

    question: str
    answer: str
    answered: bool
    right: bool
    fact_found: bool | None
    cited_right: bool | None
    is_true: bool
    answers_question: str
    cited: tuple[str, ...]
    prompt_version: str
    prompt_tokens: int | None
    completion_tokens: int | None
    cost: float | None

    @property
    def state(self) -> str:
        """What differs between prompts, in words."""
        if not self.answered:
            return "abstained, rightly" if self.right else "abstained"
        said = ["right" if self.right else "wrong", *(() if self.is_true else ("not supported",))]
        doubt = {"no": "does not answer", "unsure": "may not answer"}.get(self.answers_question)
        return ", ".join([*said, *([doubt] if doubt else [])])


def prompt_outcome(question: EvalQuestion, reply: Mapping[str, Any]) -> PromptOutcome:
    """Judge the reply of `POST /ask`; its markers are no part of what it says."""
    text, answered = str(reply.get("answer") or ""), not reply.get("abstained")
    keys = [str(each["key"]).partition("/")[2] for each in reply.get("citations") or []]
    cited = tuple(dict.fromkeys(keys))
    paths = {path for key in cited for path in (key, key.partition("/")[2])}
    holds = folded(question.expected_text or "") in folded(_MARKERS.sub("", text))
    fact_found = answered and holds if question.expected_text else None
    cited_right = answered and not paths.isdisjoint(question.documents) if question.documents else None
    expected = fact_found if fact_found is not None else cited_right
    usage = reply.get("usage") or {}
    return PromptOutcome(
        question=question.text,
        answer=text,
        answered=answered,
        right=not answered if expected is None else expected,
        fact_found=fact_found,
        cited_right=cited_right,
        is_true=not reply.get("unsupported"),
        answers_question=(reply.get("answers_question") or {}).get("status", "unchecked"),
        cited=cited,
        prompt_version=str(reply.get("prompt_version") or ""),
        prompt_tokens=usage.get("prompt_tokens"),
        completion_tokens=usage.get("completion_tokens"),
        cost=reply.get("cost"),
    )


_MARKERS = re.compile(r"\s*\[S*\d+\]")


def prompt_measures(outcomes: Sequence[PromptOutcome]) -> dict[str, float | int | None]:
    """Counts of one prompt; None where a figure is not known of a question that was answered."""
    answered = [one for one in outcomes if one.answered]

    def total(name: str) -> float | None:
        values = [getattr(one, name) for one in answered]
        return None if None in values else round(sum(values), 6)

    return {
        "questions": len(outcomes),
        "answered": len(answered),
        "right": sum(one.right for one in outcomes),
        "fact_found": sum(one.fact_found is True for one in outcomes),
        "cited_right": sum(one.cited_right is True for one in outcomes),
        "true": sum(one.is_true for one in answered),
        **{f"answers_{state}": _states(answered, state) for state in ("yes", "unsure", "no", "unchecked")},
        **{name: total(name) for name in ("prompt_tokens", "completion_tokens", "cost")},
    }


def _states(outcomes: Sequence[PromptOutcome], state: str) -> int:
    return sum(one.answers_question == state for one in outcomes)


def prompts_by_name(names: Sequence[str]) -> dict[str, dict[str, str]]:
    """The prompts to compare; one alone is compared with the one in force. Raises ConfigurationError as read_prompt."""
    named = list(dict.fromkeys(names if len(set(names)) > 1 else (CURRENT, *names)))
    return {name: read_prompt(name) for name in named}


def compare_prompts(
    client: RagdropClient,
    questions: Sequence[EvalQuestion],
    prompts: Mapping[str, Mapping[str, str]],
    fields: Mapping[str, Any],
    gate: float | None,
    save: Path | None,
    *,
    as_json: bool,
) -> None:
    """Ask all *questions* with each of *prompts*, by name, and print how they compare.

    *fields* are those of `POST /ask` besides.  The gate is the least share of right answers of the last prompt.

    Raises ConfigurationError: the API refused a prompt.
    """
    found = {name: _ask_with(client, questions, name, {**fields, **prompt}) for name, prompt in prompts.items()}
    measured = {name: prompt_measures(outcomes) for name, outcomes in found.items()}
    rows = zip(*found.values(), strict=True)
    differ = [row for row in rows if len({(one.state, one.cited) for one in row}) > 1]
    run = {
        "ragdrop": __version__,
        "prompts": [
            {
                "prompt": name,
                "prompt_version": next((one.prompt_version for one in outcomes if one.prompt_version), None),
                "measures": measured[name],
                "questions": [asdict(one) for one in outcomes],
            }
            for name, outcomes in found.items()
        ],
        "differences": [
            {"question": row[0].question, **dict(zip(found, (one.state for one in row), strict=True))} for row in differ
        ],
    }
    if save is not None:
        write_file(save, json.dumps(run, ensure_ascii=False, indent=1) + "\n")
    if as_json:
        say_object(run)
    else:
        names = list(next(iter(measured.values())))
        cells = [(name, *("-" if each[name] is None else each[name] for each in measured.values())) for name in names]
        say_table(("measure", *found), cells)
        say()
        say(f"{len(differ)} of {len(questions)} questions differ", style="bold")
        if differ:
            say_table((*found, "question"), [(*(one.state for one in row), row[0].question) for row in differ])
    if gate is not None:
        last = list(measured)[-1]
        share = sum(one.right for one in found[last]) / len(questions)
        note(f"gate {'met' if share >= gate else 'MISSED'}: {share:.1%} are right with {last}, {gate:.0%} is required")
        if share < gate:
            raise typer.Exit(FAILED)


def _ask_with(
    client: RagdropClient, questions: Sequence[EvalQuestion], prompt: str, fields: Mapping[str, Any]
) -> list[PromptOutcome]:
    asked = itertools.count(1)
    try:
        with progress(f"Asking with {prompt}", len(questions), unit="questions") as show:
            return several(
                lambda one: prompt_outcome(one, client.ask(one.text, **fields)),
                questions,
                done=lambda _outcome: show(next(asked), len(questions)),
            )
    except InvalidParamsError as exc:
        if exc.details.get("field") not in PROMPT_FIELDS:
            raise
        raise ConfigurationError(f"the prompt {prompt} cannot be used: {exc.message}") from exc
