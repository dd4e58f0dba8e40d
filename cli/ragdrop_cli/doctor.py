"""`ragdrop doctor`: look at a deployment from inside and from outside, and say of each thing how to fix it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated

import typer

from ragdrop.domain.deadlines import Deadline
from ragdrop.errors import ConfigurationError, RagdropError
from ragdrop.ports.wiring import Verdict
from ragdrop_cli.canary import Canary, searches
from ragdrop_cli.deployment import packages
from ragdrop_cli.failures import FAILED, USAGE
from ragdrop_cli.options import AsObject
from ragdrop_cli.output import say, say_object
from ragdrop_cli.session import Session, session_of

STEP_S = 30.0
STYLES = {"ok": "green", "warning": "yellow", "failed": "bold red", "skipped": "dim"}
SkipAccuracy = Annotated[bool, typer.Option("--skip-accuracy", help="Leave the canary out: nothing is written.")]
Step = Callable[[], Verdict]


@dataclass
class Examined:
    """One step: what it looked at, how it went, and how long it took."""

    name: str
    verdict: Verdict
    took_ms: float

    def to_dict(self) -> dict[str, object]:
        """As JSON has it."""
        verdict = self.verdict
        return {
            "step": self.name,
            "verdict": verdict.grade,
            "detail": verdict.detail,
            "fix": verdict.fix or None,
            "took_ms": round(self.took_ms, 1),
        }


def doctor(context: typer.Context, *, skip_accuracy: SkipAccuracy = False, as_json: AsObject = False) -> None:
    """Examine a deployment: settings, rights, wiring, versions, models, searches, and one document's whole life.

    It reads with AWS credentials, and asks the API with a key of a writer; a step takes at most 30 seconds.  The exit
    code is 0 where nothing failed, warnings included, 1 where a step failed, 2 where the settings are wrong.
    """
    found = []
    for name, step in _steps(session_of(context), skip_accuracy=skip_accuracy):
        found.append(_run(name, step))
        if not as_json:
            _say(found[-1])
    failed = [each.name for each in found if each.verdict.grade == "failed"]
    if as_json:
        say_object({"healthy": not failed, "steps": [each.to_dict() for each in found]})
    else:
        say(f"failed: {', '.join(failed)}" if failed else "nothing failed", style=STYLES["failed" if failed else "ok"])
    if failed:
        raise typer.Exit(USAGE if failed == ["settings"] else FAILED)


def _steps(session: Session, *, skip_accuracy: bool) -> Iterator[tuple[str, Step]]:
    """The steps in order; those that need what an earlier one did not find are left out, and say so."""
    try:
        with packages():
            steps = session.deployment().examine.steps()
            from ragdrop.operate.diagnose import of_error
    except ConfigurationError as exc:
        broken = Verdict("failed", exc.message, "set what is named; `make up` starts a local stack that has it all")
        yield "settings", lambda: broken
    else:
        yield "settings", lambda: Verdict("ok", "all are there and in range")
        for name, step in steps.items():

            def looked(name: str = name, step: Callable[[Deadline], Verdict] = step) -> Verdict:
                try:
                    return step(Deadline.after(STEP_S))
                except RagdropError as exc:
                    return of_error(name, exc)

            yield name, looked
    yield "searches", lambda: _asked(session, searches_of)
    if skip_accuracy:
        yield "canary", lambda: Verdict("skipped", "left out")
    else:
        yield "canary", lambda: _asked(session, canary_of)


def searches_of(session: Session) -> Verdict:
    """How long searches take."""
    with session.client() as client:
        return searches(client)


def canary_of(session: Session) -> Verdict:
    """One document's life."""
    with session.client() as client:
        return Canary(client, sleep=session.sleep, clock=session.clock).fly()


def _asked(session: Session, step: Callable[[Session], Verdict]) -> Verdict:
    try:
        return step(session)
    except ConfigurationError as exc:
        return Verdict("skipped", exc.message, "set RAGDROP_API_URL and RAGDROP_API_KEY")
    except RagdropError as exc:
        fix = "ragdrop stats --errors and GET /health tell more; the key must be a writer's"
        return Verdict("failed", f"{exc.code}: {exc.message}", fix)


@dataclass
class _Running:
    """A step in a thread of its own, which is left behind if it takes too long."""

    step: Step
    verdict: Verdict | None = None

    def __call__(self) -> None:
        self.verdict = self.step()


def _run(name: str, step: Step) -> Examined:
    start_s = time.monotonic()
    running = _Running(step)
    thread = threading.Thread(target=running, daemon=True, name=f"doctor-{name}")
    thread.start()
    thread.join(STEP_S)
    late = Verdict("failed", f"it took longer than {STEP_S:.0f} s", "something does not answer: see GET /health")
    broken = Verdict("failed", "it broke off", "this is a fault of ragdrop's own: report it")
    verdict = running.verdict or (late if thread.is_alive() else broken)
    return Examined(name, verdict, (time.monotonic() - start_s) * 1_000)


def _say(each: Examined) -> None:
    verdict = each.verdict
    say(f"{verdict.grade:8} {each.name:11} {verdict.detail}", style=STYLES[verdict.grade])
    if verdict.fix and verdict.grade != "ok":
        say(f"fix: {verdict.fix}", indent=21)
