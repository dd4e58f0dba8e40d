"""`ragdrop doctor`: diagnose a deployment from inside and outside, and the probe document that it sends."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Annotated

import typer

from ragdrop.client import RagdropClient
from ragdrop.domain.deadlines import Deadline
from ragdrop.errors import ConfigurationError, InvalidParamsError, RagdropError
from ragdrop.operate.diagnose import Verdict, latency_verdict
from ragdrop_cli.options import AsObject
from ragdrop_cli.output import FAILED, USAGE, say, say_object
from ragdrop_cli.session import Session, packages, session_of

VAULT = "ragdrop-doctor"
SEARCHES = 20
POLL_S = 0.3
QUESTIONS = ("pump", "invoice", "Who may restart the server?", "How long is the warranty?", "valve pressure limit")
STEP_S = 30.0
STYLES = {"ok": "green", "warning": "yellow", "failed": "bold red", "skipped": "dim"}
STUCK = "look at the queue's age and the log of ingest; ragdrop show ragdrop-doctor/… shows the document's error"
SkipAccuracy = Annotated[bool, typer.Option("--skip-accuracy", help="Leave the canary out: nothing is written.")]
Step = Callable[[], Verdict]


class ProbeDocument:
    """One document's whole life, as a user would see it; it is removed whatever happens.

    *client* has a key of a writer that may see the vault `ragdrop-doctor`; ingest, and removal, may take *timeout_s*
    seconds.
    """

    def __init__(
        self,
        client: RagdropClient,
        *,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
        timeout_s: float = 12.0,
    ) -> None:
        self._client, self._sleep, self._clock, self._timeout_s = client, sleep, clock, timeout_s
        self._code = f"QX-{secrets.randbelow(90_000) + 10_000}"
        self._path = f"canary-{secrets.token_hex(4)}.md"

    def live(self) -> Verdict:
        """Put, find, ask, delete, gone; raises what the client raises."""
        wrong = self._put(f"# The canary's code\n\nThe code of the canary is {self._code}.", self._seen)
        if wrong is None and self._is_found():
            wrong = Verdict("failed", "it was deleted, and is still found", "this must not be: report it")
        return wrong or Verdict("ok", "put, found, cited, deleted, gone")

    def ingest(self) -> Verdict:
        """Put, indexed, delete: no question is asked, so no chat model is needed.  Raises what the client raises."""
        return self._put("# A canary", self._indexed) or Verdict("ok", "put and indexed")

    def _put(self, text: str, check: Callable[[str], Verdict | None]) -> Verdict | None:
        """What *check* finds wrong, given the address of the status; the document is gone afterwards."""
        put = self._client.put_document(VAULT, self._path, text.encode(), media_type="text/markdown")
        try:
            return check(str(put["status_url"]))
        finally:
            self._client.delete_document(VAULT, self._path)

    def _indexed(self, status_url: str) -> Verdict | None:
        """What is wrong with its indexing; None where nothing is."""
        if not self._until(lambda: self._client.status(status_url)["status"] != "pending"):
            return Verdict("failed", "it was not indexed in time", STUCK)
        record = self._client.status(status_url)
        if record["status"] == "indexed":
            return None
        error = record.get("error") or {}
        reason = f" ({error['code']}: {error['message']})" if error.get("code") else ""
        return Verdict("failed", f"its status is {record['status']}{reason}", STUCK)

    def _seen(self, status_url: str) -> Verdict | None:
        """What is wrong with how it is found; None where nothing is."""
        if wrong := self._indexed(status_url):
            return wrong
        if not self._until(self._is_found):
            return Verdict("failed", "it is indexed, and no search finds it", "ragdrop reindex; the log of query")
        answer = self._client.ask("What is the code of the canary?", vaults=[VAULT], min_relevance=0)
        if self._code in str(answer.get("answer")) and answer.get("citations"):
            return None
        fix = "look at the chat model; ragdrop ask --json shows more"
        return Verdict("failed", "the answer does not cite it", fix)

    def _is_found(self) -> bool:
        question = "What is the code of the canary?"
        try:
            found = self._client.search(question, vaults=[VAULT], min_relevance=0, follow_links=False)
        except InvalidParamsError:  # a vault is known some seconds after its first document
            return False
        return any(self._code in str(document.get("text")) for document in found["results"])

    def _until(self, holds: Callable[[], bool]) -> bool:
        end_s = self._clock() + self._timeout_s
        while not holds():
            if self._clock() >= end_s:
                return False
            self._sleep(POLL_S)
        return True


def doctor(context: typer.Context, *, skip_accuracy: SkipAccuracy = False, as_json: AsObject = False) -> None:
    """Examine a deployment: settings, rights, wiring, versions, models, searches, and one document's whole life.

    It reads with AWS credentials, and asks the API with a key of a writer; a step takes at most 30 seconds.  The exit
    code is 0 where nothing failed, warnings included, 1 where a step failed, 2 where the settings are wrong.
    """
    steps, failed = [], []
    for name, step in _steps(session_of(context), skip_accuracy=skip_accuracy):
        verdict, took_s = _run(name, step)
        shown = {"step": name, "verdict": verdict.grade, "detail": verdict.detail, "fix": verdict.fix or None}
        steps.append({**shown, "took_ms": round(took_s * 1_000, 1)})
        failed += [name] if verdict.grade == "failed" else []
        if not as_json:
            say(f"{verdict.grade:8} {name:11} {verdict.detail}", style=STYLES[verdict.grade])
            if verdict.fix and verdict.grade != "ok":
                say(f"fix: {verdict.fix}", indent=21)
    if as_json:
        say_object({"healthy": not failed, "steps": steps})
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
    yield "searches", lambda: _asked(session, _searches)
    if skip_accuracy:
        yield "canary", lambda: Verdict("skipped", "left out")
    else:
        probe = partial(ProbeDocument, sleep=session.sleep, clock=session.clock)
        yield "canary", lambda: _asked(session, lambda client: probe(client).live())


def _searches(client: RagdropClient) -> Verdict:
    """How long searches take, as the API's caller sees it; each is another question, so that none is cached."""
    took_ms = []
    client.search("warm")
    for number in range(SEARCHES):
        start_s = time.perf_counter()
        client.search(f"{QUESTIONS[number % len(QUESTIONS)]} {secrets.token_hex(3)}")
        took_ms.append((time.perf_counter() - start_s) * 1_000)
    return latency_verdict(took_ms)


def _asked(session: Session, step: Callable[[RagdropClient], Verdict]) -> Verdict:
    """A step with a client of the API; an error is its verdict."""
    try:
        with session.client() as client:
            return step(client)
    except ConfigurationError as exc:
        return Verdict("skipped", exc.message, "set RAGDROP_API_URL and RAGDROP_API_KEY")
    except RagdropError as exc:
        fix = "ragdrop stats --errors and GET /health tell more; the key must be a writer's"
        return Verdict("failed", f"{exc.code}: {exc.message}", fix)


def _run(name: str, step: Step) -> tuple[Verdict, float]:
    """The verdict of a step and its seconds; its thread is left behind if it takes too long."""
    start_s = time.monotonic()
    found: list[Verdict] = []
    thread = threading.Thread(target=lambda: found.append(step()), daemon=True, name=f"doctor-{name}")
    thread.start()
    thread.join(STEP_S)
    late = Verdict("failed", f"it took longer than {STEP_S:.0f} s", "something does not answer: see GET /health")
    broken = Verdict("failed", "it broke off", "this is a fault of ragdrop's own: report it")
    return found[0] if found else late if thread.is_alive() else broken, time.monotonic() - start_s
