"""The table of docs/cost.md that says what a month costs, computed from stated workloads, use and list prices."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass

from localstack.launch_options import CONFIG, parameters_of
from ragdrop.domain.tenants import Engine
from ragdrop.operate.costs import (
    ALARM,
    ASK_GB_S,
    DYNAMO_GB,
    DYNAMO_READ,
    DYNAMO_WRITE,
    GATEWAY_CALL,
    GP3_GB,
    INGEST_GB_S,
    LAMBDA_CALL,
    LAMBDA_GB_S,
    LOG_GB,
    METRIC,
    S3_GB,
    S3_GET,
    S3_PUT,
    SEARCH_GB_S,
    SQS_CALL,
    unit_usd,
)

DAYS = 30.4  # a month
HOURS = 730  # a month, as AWS counts


@dataclass(frozen=True)
class CostWorkload:
    """What a month brings: documents of so many tokens, the share of them that changes each day, questions a day."""

    name: str
    documents: int
    tokens: int  # of a document
    changed: float
    searches: int  # a day, beside the questions
    questions: int
    index: str


WORKLOADS = (
    CostWorkload("trial", 1_000, 4_000, 0.01, 50, 50, "none"),
    CostWorkload("team", 10_000, 4_000, 0.02, 1_000, 1_000, "none"),
    CostWorkload("team, OpenSearch", 10_000, 4_000, 0.02, 1_000, 1_000, "single-node"),
    CostWorkload("company", 60_000, 4_000, 0.02, 10_000, 10_000, "multi-az"),
)

# List prices in USD, us-east-1, as known in 2025; those of requests and bytes are in ragdrop/operate/costs.py.
INDEX = {
    "none": (0, 0.0, 0),
    "single-node": (1, 0.036, 10),
    "multi-az": (3, 0.167, 100),
}  # nodes, an hour each, GB each
METRICS, ALARMS = (
    14,
    16,
)  # that a stack reports and watches while it is asked; those of a dependency come with its faults
EMBED_TOKEN = 0.02 / 1e6  # text-embedding-3-small
CHAT_IN, CHAT_OUT = 0.15 / 1e6, 0.60 / 1e6  # gpt-4o-mini

# What one of each uses: estimates on the high side, at the template's memory (1,769 MB for ingest, 1,024 for the rest);
# time of functions: ragdrop/operate/costs.py.
INGEST = {"gb_s": INGEST_GB_S, "reads": 8, "writes": 20, "puts": 8, "gets": 10, "calls": 4, "log_kb": 4}
SEARCH = {"gb_s": SEARCH_GB_S, "reads": 20, "writes": 3, "puts": 0, "gets": 0, "calls": 0, "log_kb": 2}
ASK = {"gb_s": ASK_GB_S, "reads": 25, "writes": 20, "puts": 0, "gets": 0, "calls": 0, "log_kb": 2}
ANSWER_TOKENS, CONTEXT_TOKENS, QUESTION_TOKENS = 300, 6_000, 20
TEXT_BYTES_A_TOKEN, STORED = 4, 4.0  # what is stored of a token: the object, its old version, text, vectors


def month(workload: CostWorkload) -> dict[str, float]:
    """USD a month by what is paid.

    >>> round(month(WORKLOADS[0])["OpenSearch"], 2), round(month(WORKLOADS[2])["OpenSearch"], 2)
    (0.0, 27.5)
    """
    files = workload.documents * workload.changed * DAYS
    searches, asked = workload.searches * DAYS, workload.questions * DAYS
    use = {name: files * INGEST[name] + searches * SEARCH[name] + asked * ASK[name] for name in INGEST}
    nodes, rate, disk_gb = INDEX[workload.index]
    stored_gb = workload.documents * workload.tokens * TEXT_BYTES_A_TOKEN * STORED / 1e9
    requests = searches + asked
    return {
        "OpenSearch": nodes * (rate * HOURS + disk_gb * GP3_GB),
        "functions": use["gb_s"] * LAMBDA_GB_S + (requests + files) * LAMBDA_CALL,
        "gateway": requests * GATEWAY_CALL,
        "tables": use["reads"] * DYNAMO_READ + use["writes"] * DYNAMO_WRITE + workload.documents * 4e-6 * DYNAMO_GB,
        "buckets, queue, logs": use["puts"] * S3_PUT
        + use["gets"] * S3_GET
        + stored_gb * S3_GB
        + use["calls"] * SQS_CALL
        + use["log_kb"] / 1e6 * LOG_GB,
        "metrics, alarms": METRICS * METRIC + ALARMS * ALARM,
        "embedding": (files * workload.tokens + requests * QUESTION_TOKENS) * EMBED_TOKEN,
        "chat": asked * (CONTEXT_TOKENS * CHAT_IN + ANSWER_TOKENS * CHAT_OUT),
    }


DOCUMENT = "new document, one chunk"
QUEUES, POLLERS, POLL_S = 2, 5, 20  # Lambda's least pollers of a queue, each waits so long for a message
SWEEPS = HOURS * 7  # one an hour, and a check of the index every ten minutes
SWEEP_GB_S, SWEEP_LISTS, SWEEP_READS, SWEEP_LOG_KB = 1.0, 5, 20, 2
DASHBOARD = 3.00


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


def idle_table() -> str:
    """What `idle` comes to, and what alarms and dashboard add."""
    costs = idle()
    monitoring = ALARMS * ALARM + DASHBOARD
    rows = [*costs.items(), ("**together**", sum(costs.values())), ("`AlarmTopicArn`: alarms, dashboard", monitoring)]
    return "| a month, USD | |\n|---|---|\n" + "\n".join(f"| {name} | {usd:.2f} |" for name, usd in rows)


FIREWALL = 6.00  # a web ACL and its rule


def estimate(parameters: Mapping[str, str]) -> dict[str, float]:
    """USD of a stack with *parameters* by list price: a month of rest, a thousand documents, a thousand questions.

    Models are not in it: their price is their provider's.

    >>> [round(usd) for usd in estimate({"OpenSearchDomain": "single-node"}).values()]
    [28, 0, 0]
    """
    nodes, rate, disk_gb = INDEX[parameters.get("OpenSearchDomain", "none")]
    engine: Engine = "opensearch" if nodes else "bucket"
    resting = sum(idle().values()) + nodes * (rate * HOURS + disk_gb * GP3_GB)
    resting += ALARMS * ALARM + DASHBOARD if parameters.get("AlarmTopicArn") else 0
    resting += FIREWALL if parameters.get("RateLimitPerAddress") else 0
    return {
        "a month while nobody asks": resting,
        "1,000 documents of one chunk": 1_000 * unit_usd(engine, DOCUMENT, INGEST_GB_S, messages=True),
        "1,000 questions": 1_000 * unit_usd(engine, "ask", ASK_GB_S, messages=False),
    }


def first(workload: CostWorkload) -> float:
    """USD, once, for bringing all documents in."""
    used = INGEST["gb_s"] * LAMBDA_GB_S + INGEST["reads"] * DYNAMO_READ + INGEST["writes"] * DYNAMO_WRITE
    return workload.documents * (used + INGEST["puts"] * S3_PUT + workload.tokens * EMBED_TOKEN)


def table() -> str:
    """Both tables: what is reckoned with, and what it comes to."""
    heads = " | ".join(workload.name for workload in WORKLOADS)
    rule = "|---" * (len(WORKLOADS) + 1) + "|"
    stated = [
        ("documents, of 4,000 tokens (3,000 words)", [f"{each.documents:,}" for each in WORKLOADS]),
        ("of them new or changed in a day", [f"{each.documents * each.changed:,.0f}" for each in WORKLOADS]),
        ("searches a day", [f"{each.searches:,}" for each in WORKLOADS]),
        ("questions a day", [f"{each.questions:,}" for each in WORKLOADS]),
        ("`OpenSearchDomain`", [each.index for each in WORKLOADS]),
    ]
    months = [month(each) for each in WORKLOADS]
    paid = [(name, [f"{each[name]:,.2f}" for each in months]) for name in months[0]]
    paid.append(("**a month, USD**", [f"**{sum(each.values()):,.0f}**" for each in months]))
    paid.append(("once, to bring all in", [f"{first(each):,.2f}" for each in WORKLOADS]))
    rows = "\n".join(f"| {name} | {' | '.join(values)} |" for name, values in [*stated, *paid])
    return f"| | {heads} |\n{rule}\n{rows}"


if __name__ == "__main__":  # make cost
    chosen = parameters_of(tomllib.loads(CONFIG.read_text("utf-8")), sys.argv[1])
    sys.stdout.writelines(f"{what}: {usd:.2f} USD\n" for what, usd in estimate(chosen).items())
