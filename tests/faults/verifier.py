"""The verifier's faults: what `POST /v1/verify` returns for a paraphrased sentence while the verifier fails."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx

from tests.faults.harness import DrillReply, Harness, verify, with_settings
from tests.faults.proxy import Fault

ANSWER = "The crossing was shut since the water level was too high."
SOURCE = "The bridge was closed because the river had risen."


@dataclass(frozen=True)
class VerifierFault:
    """A fault of what judges sentences, and the status that ANSWER then has; a warning goes with each but `supported`.

    Args:
        name: As the table shows it.
        settings: That the apps run with.
        faults: Of proxies, by what they stand before.
        status: What is expected.
    """

    name: str
    settings: Mapping[str, str] = field(default_factory=dict)
    faults: Mapping[str, Fault] = field(default_factory=dict)
    status: str = "unsupported"

    @property
    def expected(self) -> str:
        """As the table shows it."""
        return f"verify 200, {self.status}" + ("" if self.status == "supported" else ", a warning")


VERIFIER_FAULTS = (
    VerifierFault("verifier by vectors: well", status="supported"),
    *(
        VerifierFault(f"verifier by vectors: {fault}", faults={"embedding": fault})
        for fault in ("refuse", "hang", "429", "500", "garbage")
    ),
    VerifierFault("verifier by vectors: slow", faults={"embedding": "slow"}, status="supported"),
    VerifierFault("verifier by vectors: another dimension", settings={"EMBEDDING_DIMENSION": "512"}),
    *(
        VerifierFault(f"verifier by chat: {fault}", settings={"VERIFIER": "chat"}, faults={"chat": fault})
        for fault in ("refuse", "hang", "500", "garbage")
    ),
    VerifierFault("verifier by chat: a model that answers something else", settings={"VERIFIER": "chat"}),
    VerifierFault("verifier by reader: well", settings={"VERIFIER": "reader"}, status="supported"),
    *(
        VerifierFault(f"verifier by reader: {fault}", settings={"VERIFIER": "reader"}, faults={"reader": fault})
        for fault in ("refuse", "hang", "429", "500", "garbage")
    ),
    VerifierFault(
        "verifier by reader: slow", settings={"VERIFIER": "reader"}, faults={"reader": "slow"}, status="supported"
    ),
    VerifierFault("verifier by reader: another version", settings={"VERIFIER": "reader", "READER_VERSION": "another"}),
)


@dataclass(frozen=True)
class SeenStatus:
    """What the caller got."""

    reply: DrillReply

    @property
    def status(self) -> str:
        """Of the one sentence; empty where there is none."""
        sentences = self.reply.body.get("sentences") or [{}]
        return str(sentences[0].get("status", ""))

    def __str__(self) -> str:
        """As the table shows it."""
        warning = ", a warning" if self.reply.body.get("warnings") else ""
        return f"verify {self.reply.status}, {self.status}{warning}; {self.reply.taken_s:.1f} s"

    def is_as(self, fault: VerifierFault) -> bool:
        """Whether it is what *fault* should lead to: in time, and never better than the rules say."""
        has_warning = bool(self.reply.body.get("warnings")) == (fault.status != "supported")
        return self.reply.status == httpx.codes.OK and self.status == fault.status and has_warning


def judged(harness: Harness, fault: VerifierFault) -> SeenStatus:
    """Set the fault, ask once with breakers that know nothing of it, and take it away."""
    with _within(harness, fault) as changed:
        return SeenStatus(verify(changed, ANSWER, SOURCE))


@contextmanager
def _within(harness: Harness, fault: VerifierFault) -> Iterator[Harness]:
    with with_settings(harness, {"BREAKER_THRESHOLD": "1000", **fault.settings}) as changed:
        for name, how in fault.faults.items():
            harness.proxies[name].set(how)
        try:
            yield changed
        finally:
            for name in fault.faults:
                harness.proxies[name].set("pass")
