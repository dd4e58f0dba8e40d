"""The table of docs/cost.md that says what a month costs, computed from stated workloads, use and list prices."""

from __future__ import annotations

from dataclasses import dataclass

from pages.wrap import table as markdown
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
)
from ragdrop_cli.costs import (
    ALARMS,
    ANSWER_S,
    ANSWER_TOKENS,
    BATCH,
    DASHBOARD,
    HOURS,
    INDEX,
    PAIRS_S,
    PASSAGE_S,
    PASSAGE_TOKENS,
    PROMPT_TOKENS,
    QUESTION_S,
    QUESTION_TOKENS,
    idle,
    inside_usd,
    tokens_usd,
)

DAYS = 30.4  # a month


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
METRICS = 14  # that a stack reports while it is asked; those of a dependency come with its faults
EMBED_TOKEN = 0.02 / 1e6  # text-embedding-3-small
CHAT_IN, CHAT_OUT = 0.15 / 1e6, 0.60 / 1e6  # gpt-4o-mini

# What one of each uses: estimates on the high side, at the template's memory (1,769 MB for ingest, 1,024 for the rest);
# time of functions: ragdrop/operate/costs.py.
INGEST = {"gb_s": INGEST_GB_S, "reads": 8, "writes": 20, "puts": 8, "gets": 10, "calls": 4, "log_kb": 4}
SEARCH = {"gb_s": SEARCH_GB_S, "reads": 20, "writes": 3, "puts": 0, "gets": 0, "calls": 0, "log_kb": 2}
ASK = {"gb_s": ASK_GB_S, "reads": 25, "writes": 20, "puts": 0, "gets": 0, "calls": 0, "log_kb": 2}
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
        "chat": asked * (PROMPT_TOKENS * CHAT_IN + ANSWER_TOKENS * CHAT_OUT),
    }


def idle_table() -> str:
    """What `idle` comes to, and what alarms and dashboard add."""
    costs = idle()
    monitoring = ALARMS * ALARM + DASHBOARD
    rows = [*costs.items(), ("**together**", sum(costs.values())), ("`AlarmTopicArn`: alarms, dashboard", monitoring)]
    return "| a month, USD | |\n|---|---|\n" + "\n".join(f"| {name} | {usd:.2f} |" for name, usd in rows)


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


ARM = 0.8  # of arm64: its price beside that of x86_64
OFFERS = {  # embedding model, USD of a thousand reranked questions, chat model
    "Titan V2, Amazon Rerank, Nova Lite": ("amazon.titan-embed-text-v2:0", 1.00, "amazon.nova-lite-v1:0"),
    "Cohere Embed v3, Cohere Rerank 3.5, Claude Haiku 4.5": (
        "cohere.embed-english-v3",
        2.00,
        "anthropic.claude-haiku-4-5-20251001-v1:0",
    ),
    "OpenAI: text-embedding-3-small, gpt-4o-mini": ("text-embedding-3-small", None, "gpt-4o-mini"),
}


def models_table() -> str:
    """What models cost inside the stack on arm64, and those of Bedrock and OpenAI."""
    heads = ["USD", "a million passages", "a thousand questions' vectors", "as many reranked", "as many answers"]
    inside = [1e3 * ARM * inside_usd(seconds) for seconds in (QUESTION_S, PAIRS_S, ANSWER_S)]
    rows: list[tuple[str, list[float | None]]] = [
        ("the stack's own function", [1e6 * ARM * inside_usd(PASSAGE_S, 1 / BATCH), *inside])
    ]
    for name, (embedding, reranked, chat) in OFFERS.items():
        passage, question = (tokens_usd(embedding, each) or 0 for each in (PASSAGE_TOKENS, QUESTION_TOKENS))
        answer = tokens_usd(chat, PROMPT_TOKENS, ANSWER_TOKENS) or 0
        rows.append((name, [1e6 * passage, 1e3 * question, reranked, 1e3 * answer]))
    return markdown([heads, *([name, *map(_usd, figures)] for name, figures in rows)])


def _usd(figure: float | None) -> str:
    return "–" if figure is None else f"{figure:,.2f}" if figure >= 0.1 else f"{figure:.4f}"
