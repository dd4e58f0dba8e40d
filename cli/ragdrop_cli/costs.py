"""`ragdrop cost`: what a stack will cost by list price, by the parameters of its profile, before it is deployed."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from ragdrop.domain.models import price_of
from ragdrop.domain.tenants import Engine
from ragdrop.errors import ConfigurationError
from ragdrop.operate.costs import (
    ALARM,
    ASK_GB_S,
    DYNAMO_READ,
    GP3_GB,
    INGEST_GB_S,
    LAMBDA_CALL,
    LAMBDA_GB_S,
    LOG_GB,
    S3_PUT,
    SQS_CALL,
    unit_usd,
)
from ragdrop_cli.invoke import find_repository
from ragdrop_cli.options import AsObject
from ragdrop_cli.output import note, say_object, say_table

# List prices in USD, us-east-1, as known in 2025; those of requests and bytes are in ragdrop/operate/costs.py, those of
# Bedrock's models in ragdrop/domain/models.py.
HOURS = 730  # a month, as AWS counts
INDEX = {
    "none": (0, 0.0, 0),
    "single-node": (1, 0.036, 10),
    "multi-az": (3, 0.167, 100),
}  # nodes, an hour each, GB each
ALARMS, DASHBOARD = 16, 3.00
FIREWALL = 6.00  # a web ACL and its rule
PROVISIONED_GB_S = 0.0000041667
OF_OTHERS = {"text-embedding-3-small": (0.02, 0.0), "gpt-4o-mini": (0.15, 0.60)}  # a million tokens read and written

DOCUMENT = "new document, one chunk"
QUEUES, POLLERS, POLL_S = 2, 5, 20  # Lambda's least pollers of a queue, each waits so long for a message
SWEEPS = HOURS * 7  # one an hour, and a check of the index every ten minutes
SWEEP_GB_S, SWEEP_LISTS, SWEEP_READS, SWEEP_LOG_KB = 1.0, 5, 20, 2

# Of the stack's own function, with the template's memory: seconds as benchmarks/models_function.py measures them.
MODELS_GB = 2_560 / 1_024
QUESTION_S, PAIRS_S, PASSAGE_S = 0.007, 0.15, 0.030  # a question's vector, ten pairs read, one passage in a batch
ANSWER_S = 0.3  # of the answerer, computed: it embeds the sentences of ten passages
BATCH = 32  # passages of a call of ingest
PASSAGE_TOKENS, QUESTION_TOKENS, PROMPT_TOKENS, ANSWER_TOKENS = 200, 20, 6_000, 300


@dataclass(frozen=True, slots=True)
class Estimate:
    """USD of AWS without models, and of the models; None where nobody knows their price."""

    services: float
    models: float | None


def idle() -> dict[str, float]:
    """USD a month of a stack that holds little and that nobody asks, by list price, without free tiers.

    >>> 0 < sum(idle().values()) < 1
    True
    """
    polls = QUEUES * POLLERS * HOURS * 3_600 / POLL_S
    return {
        "polls of two queues": polls * SQS_CALL,
        "sweep and check of the index": SWEEPS * (SWEEP_GB_S * LAMBDA_GB_S + LAMBDA_CALL + SWEEP_LISTS * S3_PUT),
        "its reads and log lines": SWEEPS * (SWEEP_READS * DYNAMO_READ + SWEEP_LOG_KB / 1e6 * LOG_GB),
    }


def inside_usd(seconds: float, calls: float = 1) -> float:
    """What calls of the stack's own function cost that take so many seconds in all.

    >>> round(inside_usd(0.03, 1 / 32) * 1e6, 2)
    1.26
    """
    return seconds * MODELS_GB * LAMBDA_GB_S + calls * LAMBDA_CALL


def tokens_usd(model: str, read: int, written: int = 0) -> float | None:
    """What so many tokens of *model* cost by list price; None if it is not known.

    >>> tokens_usd("amazon.titan-embed-text-v2:0", 1_000_000), tokens_usd("mine", 1)
    (0.02, None)
    """
    found = price_of(model, OF_OTHERS)
    return None if found is None else (found[0] * read + found[1] * written) / 1e6


def estimate(parameters: Mapping[str, str]) -> dict[str, Estimate]:
    """USD of a stack with *parameters*: a month while nobody asks, a thousand documents, a thousand questions.

    A parameter that is not there has the template's default; a passage has 200 tokens, a prompt 6,000.

    >>> found = estimate({"OpenSearchDomain": "single-node", "ChatUrl": "https://x/v1", "ChatModels": "mine"})
    >>> [round(each.services) for each in found.values()], found["1,000 questions"].models
    ([28, 0, 0], None)
    """
    nodes, rate, disk_gb = INDEX[parameters.get("OpenSearchDomain", "none")]
    engine: Engine = "opensearch" if nodes else "bucket"
    resting = sum(idle().values()) + nodes * (rate * HOURS + disk_gb * GP3_GB)
    resting += ALARMS * ALARM + DASHBOARD if parameters.get("AlarmTopicArn") else 0
    resting += FIREWALL if parameters.get("RateLimitPerAddress") else 0
    started = int(parameters.get("ModelsProvisioned", "0"))
    embedding, chat = parameters.get("EmbeddingModel", ""), parameters.get("ChatModels", "").partition(",")[0].strip()
    if parameters.get("EmbeddingUrl"):
        passage, question = (tokens_usd(embedding, tokens) for tokens in (PASSAGE_TOKENS, QUESTION_TOKENS))
    else:
        passage, question = inside_usd(PASSAGE_S, 1 / BATCH), inside_usd(QUESTION_S)
    answer = tokens_usd(chat, PROMPT_TOKENS, ANSWER_TOKENS) if parameters.get("ChatUrl") else inside_usd(ANSWER_S)
    reader = 0.0 if parameters.get("ReaderUrl") else inside_usd(PAIRS_S)
    asked = None if question is None or answer is None else 1_000 * (question + reader + answer)
    documents = 1_000 * unit_usd(engine, DOCUMENT, INGEST_GB_S, messages=True)
    return {
        "a month while nobody asks": Estimate(resting, started * MODELS_GB * HOURS * 3_600 * PROVISIONED_GB_S),
        "1,000 documents of one chunk": Estimate(documents, None if passage is None else 1_000 * passage),
        "1,000 questions": Estimate(1_000 * unit_usd(engine, "ask", ASK_GB_S, messages=False), asked),
    }


def parameters_of(config: Mapping[str, Any], environment: str) -> dict[str, str]:
    """The parameters that samconfig.toml has for *environment*, as a list or as SAM's guide writes them, a text.

    >>> parameters_of({"dev": {"deploy": {"parameters": {"parameter_overrides": 'Stage="dev" A="b c"'}}}}, "dev")
    {'Stage': 'dev', 'A': 'b c'}

    Raises ConfigurationError if there is no such environment.
    """
    try:
        overrides = config[environment]["deploy"]["parameters"].get("parameter_overrides", [])
    except KeyError as exc:
        known = ", ".join(sorted(name for name in config if name not in {"version", "local"}))
        raise ConfigurationError(
            f"samconfig.toml has no environment {environment!r} to deploy; it has {known}"
        ) from exc
    pairs = shlex.split(overrides) if isinstance(overrides, str) else overrides
    return {name: value for name, _, value in (pair.partition("=") for pair in pairs)}


Before = Annotated[Literal["deploy"], typer.Option("--before", help="Before the stack of the profile is deployed.")]
Profile = Annotated[str, typer.Option("--env", help="An environment of samconfig.toml.")]


def cost(*, before: Before, profile: Profile = "dev", as_json: AsObject = False) -> None:
    """Show what the stack of a profile will cost by list price: at rest, for documents, for questions.

    Run it in ragdrop's repository. What a tenant's questions did cost: ragdrop stats --cost.
    """
    del before  # there is no other moment yet
    config = (find_repository(Path.cwd()) / "samconfig.toml").read_text("utf-8")
    found = estimate(parameters_of(tomllib.loads(config), profile))
    if as_json:
        say_object({what: {"services": usd.services, "models": usd.models} for what, usd in found.items()})
        return
    rows = [
        (what, f"{usd.services:.2f}", "unknown" if usd.models is None else f"{usd.models:.2f}")
        for what, usd in found.items()
    ]
    say_table(("USD", "AWS without models", "models"), rows)
    note("List prices of us-east-1 without free tiers; arm64 takes a fifth less for functions. See docs/cost.md.")
