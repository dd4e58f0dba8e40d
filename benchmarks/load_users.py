"""What locust runs: users that ask at a pace, and one that is refused, through the same gateway.

It lives in its own environment (requirements/load.in) and imports nothing of ragdrop.  LOAD_PLAN names a JSON
file: `url, key, questions, distinct, pause_s, paced, samples`; every reply is one line of `samples`.
"""

from __future__ import annotations

import json
import os
import random
import time
from pathlib import Path
from typing import Any

from locust import FastHttpUser, task

PLAN: dict[str, Any] = json.loads(Path(os.environ["LOAD_PLAN"]).read_text("utf-8"))
SAMPLES = Path(PLAN["samples"]).open("a", encoding="utf-8", buffering=1)  # noqa: SIM115 - open as long as locust runs
NOTED = ("fallback", "fallback_level", "served_by", "latency_ms", "abstained")
PAUSE = (0.5, 1.5)  # shares of the pause between an answer and the next question of a user
UNASKED = iter(PLAN["questions"])  # one process, so no two users take the same


def note(kind: str, begun_at_s: float, taken_s: float, status: int, body: dict[str, Any]) -> None:
    """One line: which kind of request, when it began, how long it took, and what the answer says of itself."""
    reported = {name: body.get(name) for name in NOTED if name in body}
    error = body.get("error")
    if isinstance(error, dict):
        reported["code"] = error.get("code")
    line = {"kind": kind, "at_s": begun_at_s, "ms": taken_s * 1000, "status": status, **reported}
    SAMPLES.write(json.dumps(line) + "\n")


class Person(FastHttpUser):
    """Asks; the plan says whether at a pace or as fast as answers come."""

    abstract = True
    host = PLAN["url"]
    connection_timeout = network_timeout = 30.0

    def wait_time(self) -> float:
        """Seconds to the next question: with equal pauses, users whom one slow moment delayed ask in step for ever."""
        return random.uniform(*PAUSE) * PLAN["pause_s"] if PLAN["paced"] else 0.0

    def post(self, kind: str, headers: dict[str, str], question: str) -> None:
        body = {"query": question}
        at_s, begun_s = time.time(), time.perf_counter()
        with self.client.post("/search", json=body, headers=headers, catch_response=True, name=kind) as response:
            taken_s = time.perf_counter() - begun_s
            try:
                reported = response.json()
            except (ValueError, TypeError):  # nothing came, or no JSON
                reported = {}
            note(kind, at_s, taken_s, response.status_code, reported if isinstance(reported, dict) else {})
            response.success()  # what counts as an error is decided by who reads the samples


class Asking(Person):
    """A user with a key."""

    weight = 1

    @task
    def search(self) -> None:
        question = next(UNASKED) if PLAN["distinct"] else random.choice(PLAN["questions"])
        self.post("search", {"x-api-key": PLAN["key"]}, question)


class Refused(Person):
    """A user without a key: the gateway, the emulator and the credential check alone."""

    abstract = not PLAN["paced"]  # without a fixed number of them half of the users would be of this kind
    fixed_count = 1

    @task
    def search(self) -> None:
        """One question that is refused before anything is asked of anyone."""
        self.post("refused", {}, PLAN["questions"][0])
