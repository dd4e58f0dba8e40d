"""`ragdrop stats`: what the tenant holds and what its queries came to, with small plots."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import typer

from ragdrop.operate.stats import HOURS
from ragdrop_cli.options import AsJson, AsObject
from ragdrop_cli.output import bars, say, say_body, say_object, say_table
from ragdrop_cli.session import session_of

TimeRange = Annotated[
    str, typer.Argument(help="1h, 24h, 7d or 30d, up to now, in whole hours.", metavar="[1h|24h|7d|30d]")
]
Cost = Annotated[bool, typer.Option("--cost", help="Show what questions and documents cost, by line.")]
Errors = Annotated[bool, typer.Option("--errors", help="Show what failed: component, operation, code, stage.")]


def stats(
    context: typer.Context,
    time_range: TimeRange = "24h",
    *,
    errors: Errors = False,
    cost: Cost = False,
    as_json: AsJson = False,
) -> None:
    """Show figures of the tenant: documents, queries, latencies, rates, tokens, cost, and how they went over time."""
    with session_of(context).client() as client:
        reply = client.stats(time_range, detail=True, cost=cost)
    if as_json:
        say_body(reply.raw)
    elif errors:
        _show_errors(reply)
    elif cost:
        _show_costs(reply)
    else:
        _show(reply)


def vaults(context: typer.Context, *, as_json: AsObject = False) -> None:
    """List the vaults that the key may read: documents by status, chunks, last change."""
    with session_of(context).client() as client:
        found = [vault for page in client.vaults() for vault in page["vaults"]]
    if as_json:
        say_object({"vaults": found})
        return
    rows = [(each["name"], _counts(each), _known(each["chunks"]), each["last_change"] or "") for each in found]
    say_table(("vault", "documents", "chunks", "last change"), rows)


def _counts(vault: Mapping[str, Any]) -> str:
    counts = ", ".join(f"{count} {status}" for status, count in sorted(vault["documents"].items()))
    return (counts or "empty") + ("" if vault["complete"] else " or more")


def _show(body: Mapping[str, Any]) -> None:
    say(f"{body.get('total_documents')} documents, {body.get('total_chunks')} chunks", style="bold")
    say(f"{body.get('total_queries')} queries in {body.get('time_range')}")
    if not body.get("total_queries"):
        return
    for title, names in (
        ("latency", ("avg_latency_ms", "p50_latency_ms", "p95_latency_ms", "p99_latency_ms")),
        ("rates", ("cache_hit_rate", "fallback_rate", "abstention_rate", "error_rate")),
    ):
        say(f"{title}: " + ", ".join(_rate(name, body.get(name)) for name in names))
    tokens, cost = (body.get("tokens") or {}).get("total"), body.get("cost")
    say(f"tokens: {_known(tokens)}; cost: {_known(cost)}")
    if pairs := body.get("reader_pairs"):
        say(f"reader: {pairs:,} pairs in {(body.get('reader_ms') or 0) / 1_000:,.1f} s")
    _plot(body)
    for title, counts in (("agents", body.get("queries_by_agent")), ("errors", body.get("errors_by_code"))):
        if counts:
            say(f"{title}: " + ", ".join(f"{name} {count}" for name, count in counts.items()))


def _rate(name: str, value: float | None) -> str:
    short = name.removesuffix("_latency_ms").removesuffix("_rate").replace("_", " ")
    if value is None:
        return f"{short} unknown"
    return f"{short} {value:,.0f} ms" if name.endswith("_ms") else f"{short} {value:.1%}"


def _known(value: float | None) -> str:
    return "unknown" if value is None else f"{value:,}"


def _plot(body: Mapping[str, Any]) -> None:
    hours = {each["hour"]: each for each in body.get("hours") or []}
    if len(hours) < 2 or str(body.get("time_range")) not in HOURS:
        return
    last = datetime.fromisoformat(f"{max(hours)}:00:00+00:00")
    first = max(datetime.fromisoformat(f"{min(hours)}:00:00+00:00"), last - timedelta(hours=max(HOURS.values())))
    names = [
        (first + timedelta(hours=step)).astimezone(UTC).strftime("%Y-%m-%dT%H")
        for step in range(int((last - first) / timedelta(hours=1)) + 1)
    ]
    for title, field in (("queries", "queries"), ("p95", "p95_latency_ms"), ("failed", "failed")):
        say(f"{title:8} {bars([hours[name][field] if name in hours else None for name in names])}")
    say(f"{'':8} {names[0]}:00 to {names[-1]}:59 UTC", style="dim")


def _show_errors(body: Mapping[str, Any]) -> None:
    rows = [
        [each[name] for name in ("count", "code", "component", "operation", "stage")]
        for each in body.get("errors") or []
    ]
    if rows:
        say_table(("count", "code", "component", "operation", "stage"), rows)
    else:
        say(f"No errors in {body.get('time_range')}.")


def _show_costs(body: Mapping[str, Any]) -> None:
    lines = body.get("costs") or []
    rows = [[each["name"], _known(each["count"]), _money(each["usd"]), each["basis"]] for each in lines]
    say_table(("what", "count", "USD", "count is"), rows)
    known = sum(each["usd"] or 0.0 for each in lines)
    say(f"{_money(known)} USD in {body.get('time_range')}, by AWS's list prices: an estimate", style="bold")
    say("Requests of one operation are counted, its time in a function is estimated, chat is in your own prices.")
    say("Unknown: what the embedding model and the reader cost where they run; a price of the first is in chat tokens.")
    say("Not in it: embeddings of documents, an OpenSearch domain, what a deployment costs while nobody asks.")


def _money(usd: float | None) -> str:
    return "unknown" if usd is None else f"{usd:,.4f}"
