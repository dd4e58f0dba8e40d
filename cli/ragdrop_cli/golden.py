"""`ragdrop canary`: ask the golden questions of vaults now, and fail where one is not answered any more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from ragdrop.errors import ConfigurationError
from ragdrop_cli.failures import FAILED, UNREACHABLE
from ragdrop_cli.options import AsObject, ManyVaults
from ragdrop_cli.output import note, say, say_object, say_table
from ragdrop_cli.session import session_of, vault_list

Gate = Annotated[
    float | None,
    typer.Option("--gate", min=0, max=1, show_default="none", help="Fail under this share of answered questions too."),
]


def canary(context: typer.Context, vault: ManyVaults = None, *, gate: Gate = None, as_json: AsObject = False) -> None:
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
        _show(runs)
    _hold(runs, gate)


def _show(runs: Sequence[Mapping[str, Any]]) -> None:
    say_table(
        ("vault", "questions", "answered", "dropped", "not measured"),
        [
            (run["vault"], run["questions"], run["answered"], len(run["dropped"]), run["not_measured"] or "")
            for run in runs
        ],
    )
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
        told = "MISSED" if low else "held"
        note(f"gate {told}: {answered} of {questions} golden questions are answered, {gate:.0%} is wanted")
    if any(run["not_measured"] for run in runs):
        note("some questions could not be asked: nothing can be said of them")
        raise typer.Exit(FAILED if dropped else UNREACHABLE)
    if dropped or low:
        raise typer.Exit(FAILED)
