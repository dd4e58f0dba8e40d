"""`ragdrop tenant`: make, list, bound, disable and enable tenants; with AWS credentials instead of an API key."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from ragdrop.domain.rates import RateLimits
from ragdrop.domain.tenants import Tenant
from ragdrop.errors import ConflictError
from ragdrop_cli.options import AsObject
from ragdrop_cli.output import note, say, say_object, say_table
from ragdrop_cli.session import session_of

TenantName = Annotated[str, typer.Argument(metavar="NAME", help="2 to 63 of a-z, 0-9 and -.", show_default=False)]
IfMissing = Annotated[bool, typer.Option("--if-missing", help="A tenant that is there already is no error.")]
PerMinute = Annotated[
    int | None,
    typer.Option("--per-minute", min=0, max=1_000_000, help="Requests a minute of all its keys; 0 = no limit."),
]
KeyPerMinute = Annotated[
    int | None,
    typer.Option("--key-per-minute", min=0, max=1_000_000, help="Requests a minute of each key; 0 = no limit."),
]
DailyTokens = Annotated[
    int | None, typer.Option("--daily-tokens", min=0, help="Tokens of chat models a day (UTC); 0 = no limit.")
]
DailyDocuments = Annotated[
    int | None, typer.Option("--daily-documents", min=0, help="Documents written over HTTP a day; 0 = no limit.")
]


def create(
    context: typer.Context, name: TenantName, *, if_missing: IfMissing = False, as_json: AsObject = False
) -> None:
    """Make a tenant: the wall around its documents, vaults and keys."""
    created = True
    try:
        session_of(context).deployment().operator.create_tenant(name)
    except ConflictError:
        if not if_missing:
            raise
        created = False
    if as_json:
        say_object({"tenant": name, "created": created})
    else:
        say(f"tenant {name} {'created' if created else 'is there already'}")


def list_all(context: typer.Context, *, as_json: AsObject = False) -> None:
    """List the tenants.  With --json one object a tenant, one a line."""
    tenants = session_of(context).deployment().registry.tenants()
    if as_json:
        for tenant in tenants:
            say_object(_fields(tenant))
        return
    rows = [
        (
            tenant.name,
            "enabled" if tenant.enabled else "disabled",
            tenant.documents,
            tenant.chunks,
            tenant.rates.per_minute or "-",
            tenant.rates.key_per_minute or "-",
            tenant.created_at,
        )
        for tenant in tenants
    ]
    columns = ("tenant", "state", "documents", "chunks", "per minute", "per key and minute", "created")
    say_table(columns, rows)
    if not tenants:
        note("there is no tenant yet: ragdrop tenant create NAME")


def limit(
    context: typer.Context,
    name: TenantName,
    per_minute: PerMinute = None,
    key_per_minute: KeyPerMinute = None,
    daily_tokens: DailyTokens = None,
    daily_documents: DailyDocuments = None,
    *,
    as_json: AsObject = False,
) -> None:
    """Bound what a tenant asks in a minute and uses in a day, or show the limits; over them: 429 RATE_LIMITED."""
    deployment = session_of(context).deployment()
    given = {
        "per_minute": per_minute,
        "key_per_minute": key_per_minute,
        "daily_tokens": daily_tokens,
        "daily_documents": daily_documents,
    }
    changes = {each: value or None for each, value in given.items() if value is not None}
    rates = deployment.operator.rates(name)
    if changes:
        rates = RateLimits(**(asdict(rates) | changes))
        deployment.operator.set_rates(name, rates)
    if as_json:
        say_object({"tenant": name, **asdict(rates)})
        return
    say(f"tenant {name}: {rates.per_minute or 'any number of'} requests a minute")
    say(f"each of its keys: {rates.key_per_minute or 'any number of'}", indent=2)
    say(f"a day: {rates.daily_tokens or 'any number of'} tokens, {rates.daily_documents or 'any number of'} documents")


def disable(context: typer.Context, name: TenantName, *, as_json: AsObject = False) -> None:
    """Let a tenant's keys open nothing (403 PROJECT_NOT_ACTIVATED), within 5 seconds; nothing is removed."""
    _switch(context, name, enabled=False, as_json=as_json)


def enable(context: typer.Context, name: TenantName, *, as_json: AsObject = False) -> None:
    """Let a disabled tenant's keys open again what they opened.  What was dropped meanwhile comes with the sweep."""
    _switch(context, name, enabled=True, as_json=as_json)


def _switch(context: typer.Context, name: str, *, enabled: bool, as_json: bool) -> None:
    before = session_of(context).deployment().operator.set_enabled(name, enabled=enabled)
    if as_json:
        say_object({"tenant": name, "enabled": enabled, "changed": before.enabled != enabled})
        return
    state = "enabled" if enabled else "disabled"
    say(f"tenant {name} {'was' if before.enabled == enabled else 'is'} {state}")


def _fields(tenant: Tenant) -> dict[str, object]:
    fields = {"tenant": tenant.name, "enabled": tenant.enabled, "documents": tenant.documents, "chunks": tenant.chunks}
    return {**fields, "vaults": list(tenant.vaults), **asdict(tenant.rates), "created_at": tenant.created_at}
