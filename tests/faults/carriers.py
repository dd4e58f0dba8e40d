"""Faults of what carries calls to models on AWS: the stack's own function, and Amazon Bedrock by role."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.faults.harness import DrillReply, Harness, ask, search, with_settings
from tests.faults.proxy import Fault

FUNCTION, REGION = "lambda:ragdrop-models:live", "us-east-1"
PROFILE, TITAN = "eu.anthropic.claude-haiku-4-5-20251001-v1:0", "amazon.titan-embed-text-v2:0"
SETTINGS = {
    "function": {"EMBEDDING_URL": FUNCTION, "CHAT_URL": FUNCTION},
    "bedrock": {
        "EMBEDDING_URL": f"bedrock:{REGION}",
        "EMBEDDING_MODEL": TITAN,  # of new tenants; the drill's own has another, and the server makes vectors of any
        "EMBEDDING_DIMENSION": "256",
        "CHAT_URL": f"bedrock:{REGION}",
        "CHAT_MODELS": PROFILE,
    },
}
DOWN, WRONG, LATE = httpx.codes.SERVICE_UNAVAILABLE, httpx.codes.BAD_GATEWAY, httpx.codes.GATEWAY_TIMEOUT


@dataclass(frozen=True)
class CarrierFault:
    """A fault of a carrier, and what callers should see.

    Args:
        carrier: `function` or `bedrock`.
        what: As the table shows it.
        fault: Of the proxy before it.
        refusal: The error that the service answers with.
        how: More of how the service misbehaves: the message of the error, or a function's payload.
        level: Of searches; 0 where a search is refused, too, as waiting does not fix it.
        asks: Statuses that a question may have.
        words: In the message of the question's error.
    """

    carrier: str
    what: str
    fault: Fault = "pass"
    refusal: str | None = None
    how: Mapping[str, str] = field(default_factory=dict)
    level: int = 2
    asks: tuple[int, ...] = (DOWN,)
    words: str = ""

    @property
    def name(self) -> str:
        """As the table shows it.

        >>> CarrierFault("bedrock", "throttled").name
        'models of bedrock: throttled'
        """
        return f"models of {self.carrier}: {self.what}"

    @property
    def expected(self) -> str:
        """As the table shows it."""
        asks = "/".join(map(str, map(int, self.asks)))
        search = f"level {self.level}; ask" if self.level else "search and ask"
        return f"{search} {asks}" + (f', "{self.words}"' if self.words else "")


CARRIER_FAULTS = (
    *(CarrierFault(carrier, "well", level=1, asks=(200,)) for carrier in SETTINGS),
    *(CarrierFault(carrier, "slow", "slow", level=1, asks=(200,)) for carrier in SETTINGS),
    *(CarrierFault(carrier, fault, fault) for carrier in SETTINGS for fault in ("refuse", "garbage")),
    *(CarrierFault(carrier, "hang", "hang", asks=(DOWN, LATE)) for carrier in SETTINGS),
    CarrierFault("function", "throttled", refusal="TooManyRequestsException", words="as many functions as it may"),
    CarrierFault("function", "not allowed", refusal="AccessDeniedException", level=0, words="may not be invoked"),
    CarrierFault("function", "out of memory", how={"errorType": "Runtime.OutOfMemory"}, words="Runtime.OutOfMemory"),
    CarrierFault("bedrock", "throttled", refusal="ThrottlingException", words="Service Quotas"),
    CarrierFault(
        "bedrock",
        "access not granted",
        refusal="AccessDeniedException",
        how={"message": "You don't have access to the model with the specified model ID."},
        asks=(WRONG,),
        words="Model catalog",
    ),
    CarrierFault(
        "bedrock",
        "a region without the model",
        refusal="ValidationException",
        how={"message": "The provided model identifier is invalid."},
        asks=(WRONG,),
        words="bedrock:REGION",
    ),
    CarrierFault("bedrock", "a guardrail", how={"stop": "guardrail_intervened"}, level=1, words="guardrail"),
)


@dataclass(frozen=True)
class SeenCarrier:
    """What callers got."""

    found: DrillReply
    answer: DrillReply

    @property
    def message(self) -> str:
        """Of the question's error; empty where there is none."""
        error: Any = self.answer.body.get("error")
        return str(error.get("message", "")) if isinstance(error, dict) else ""

    def __str__(self) -> str:
        """As the table shows it."""
        code = f" {self.answer.code}" if self.answer.code else ""
        slowest_s = max(self.found.taken_s, self.answer.taken_s)
        search = f"level {self.found.level}" if self.found.level else f"search {self.found.status}"
        return f"{search}; ask {self.answer.status}{code}; slowest {slowest_s:.1f} s"

    def is_as(self, fault: CarrierFault) -> bool:
        """Whether it is what *fault* should lead to, with the words that say what to do where a question fails."""
        return (
            self.found.status in ((httpx.codes.OK,) if fault.level else fault.asks)
            and self.found.level == fault.level
            and bool(self.found.body.get("results")) == bool(fault.level)
            and self.answer.status in fault.asks
            and fault.words in self.message
        )


def carried(harness: Harness, fault: CarrierFault) -> SeenCarrier:
    """Set the fault, search and ask once with apps whose breakers know nothing of it, and take it away."""
    settings = {"BREAKER_THRESHOLD": "1000", **SETTINGS[fault.carrier]}
    with with_settings(harness, settings) as changed, _misbehaving(harness, fault):
        return SeenCarrier(search(changed), ask(changed))


@contextmanager
def _misbehaving(harness: Harness, fault: CarrierFault) -> Iterator[None]:
    bedrock, function, proxy = harness.bedrock, harness.function, harness.proxies[fault.carrier]
    if fault.carrier == "function":
        function.refusal, function.failure = fault.refusal, fault.how or None
    else:
        how = fault.how if fault.refusal is None else {"error": fault.refusal, **fault.how}
        for model in (PROFILE, "all-MiniLM-L6-v2"):  # the second is that of the tenant's index
            bedrock.behave(model, **how)
    proxy.set(fault.fault)
    try:
        yield
    finally:
        proxy.set("pass")
        function.refusal = function.failure = None
        bedrock.behaviours.clear()
