"""`ragdrop tenant` and `ragdrop key`: tenants and their API keys; with AWS credentials instead of an API key."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Annotated

import typer

from ragdrop.domain.deadlines import Deadline, duration_s, rfc3339
from ragdrop.domain.tenants import ApiKey, RateLimits, Role, Tenant
from ragdrop.errors import ConflictError
from ragdrop_cli.options import AsObject, ManyVaults
from ragdrop_cli.output import USAGE, note, say, say_object, say_table
from ragdrop_cli.session import packages, session_of

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
            say_object(_tenant_fields(tenant))
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
    given = {"per_minute": per_minute, "key_per_minute": key_per_minute}
    given |= {"daily_tokens": daily_tokens, "daily_documents": daily_documents}
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


def _tenant_fields(tenant: Tenant) -> dict[str, object]:
    fields = {"tenant": tenant.name, "enabled": tenant.enabled, "documents": tenant.documents, "chunks": tenant.chunks}
    return {**fields, "vaults": list(tenant.vaults), **asdict(tenant.rates), "created_at": tenant.created_at}


LONGEST_S = 24 * 3_600.0
Yes = Annotated[bool, typer.Option("--yes", help="Do it: nothing can be restored.")]
PLACES = {
    "versions": "object versions (documents, settings files, delete markers)",
    "derived": "derived objects (texts, vectors, segments, notes)",
    "chunks": "chunks",
    "documents": "documents in the registry",
    "registry_items": "registry items (theirs, the tenant's, its keys)",
    "receipts": "receipts of answers",
    "telemetry": "items of telemetry (counts, cached vectors of questions)",
}


def delete(context: typer.Context, name: TenantName, *, yes: Yes = False, as_json: AsObject = False) -> None:
    """Remove a tenant and all that is stored of it: documents with all versions, what was made of them, keys, receipts.

    It is disabled first, and what ingest has begun may end: that takes a minute, unless it was disabled before.  Cut
    off, the same command continues.
    """
    session = session_of(context)
    if not yes:
        note(f"tenant {name} would be removed with all its documents and their versions; nothing could be restored")
        note(f"next: ragdrop tenant delete {name} --yes")
        raise typer.Exit(USAGE)
    with packages():
        step = session.deployment().delete_tenant

    def wait(seconds: float) -> None:
        note(f"tenant {name} is disabled; waiting {seconds:.0f} s for what is on its way")
        session.sleep(seconds)

    receipt = asdict(step(name, Deadline.after(LONGEST_S), wait=wait))
    if as_json:
        say_object(receipt)
        return
    say(f"tenant {name} is deleted")
    for place, words in PLACES.items():
        say(f"{receipt[place]} {words} removed", indent=2)
    note("lists of followed links expire within an hour; logs within 30 days: they hold no text of documents")


Owner = Annotated[str, typer.Argument(metavar="TENANT", help="The tenant that the key opens.", show_default=False)]
KeyId = Annotated[
    str, typer.Argument(metavar="KEY_ID", help="As `ragdrop key list` shows it; never the secret.", show_default=False)
]
RoleName = Annotated[Role, typer.Option("--role", help="What the key may do.", show_default=False)]
Expires = Annotated[
    str | None, typer.Option("--expires", help="How long it opens something: 90d, 12h.", show_default="for ever")
]
NewExpires = Annotated[
    str | None, typer.Option("--expires", help="How long the new one lives: 90d, 12h.", show_default="as the old one")
]
Overlap = Annotated[str, typer.Option("--overlap", help="How long the old one works: 24h, 0s.")]
Groups = Annotated[
    list[str] | None,
    typer.Option("--group", help="A group of its holder, by which rules of access let it read; can be repeated."),
]
Label = Annotated[str, typer.Option("--label", help="What it is for, shown in lists.", show_default=False)]
CACHED = "it may open something for up to 60 seconds more"


def create_key(
    context: typer.Context,
    tenant: Owner,
    role: RoleName,
    vault: ManyVaults = None,
    group: Groups = None,
    expires: Expires = None,
    label: Label = "",
    *,
    as_json: AsObject = False,
) -> None:
    """Make an API key.  Its secret is shown this once; only its SHA-256 is stored."""
    lifetime_s = duration_s(expires) if expires else None
    operator = session_of(context).deployment().operator
    secret, key = operator.create_key(
        tenant, role, list(vault or []), groups=list(group or []), lifetime_s=lifetime_s, label=label
    )
    if as_json:
        say_object({"api_key": secret, **_key_fields(key)})
        return
    _show_secret(secret, key)


def list_keys(context: typer.Context, tenant: Owner, *, as_json: AsObject = False) -> None:
    """List a tenant's keys, revoked and expired ones too; never their secrets.

    With --json one object a key, one a line.
    """
    keys = session_of(context).deployment().operator.keys(tenant)
    if as_json:
        for key in keys:
            say_object(_key_fields(key))
        return
    now_s = time.time()
    rows = [
        (
            key.id,
            key.role,
            ", ".join(key.vaults) or "all",
            ", ".join(key.groups) or "-",
            key.state(now_s),
            _expiry(key),
            key.created_at,
            key.label,
        )
        for key in keys
    ]
    say_table(("key", "role", "vaults", "groups", "state", "expires", "created", "label"), rows)


def rotate_key(
    context: typer.Context,
    tenant: Owner,
    key_id: KeyId,
    overlap: Overlap = "24h",
    expires: NewExpires = None,
    *,
    as_json: AsObject = False,
) -> None:
    """Make a new key with the same rights; the old one expires after the overlap, so that clients can change over."""
    lifetime_s = duration_s(expires) if expires else None
    operator = session_of(context).deployment().operator
    secret, new, old = operator.rotate_key(tenant, key_id, overlap_s=duration_s(overlap), lifetime_s=lifetime_s)
    if as_json:
        say_object({"api_key": secret, **_key_fields(new), "replaces": _key_fields(old)})
        return
    _show_secret(secret, new)
    note(f"key {old.id} expires {_expiry(old)}; {CACHED}")


def revoke_key(context: typer.Context, tenant: Owner, key_id: KeyId, *, as_json: AsObject = False) -> None:
    """Let a key open nothing any more, for good."""
    key = session_of(context).deployment().operator.revoke_key(tenant, key_id)
    if as_json:
        say_object(_key_fields(key))
        return
    say(f"key {key.id} of tenant {tenant} is revoked")
    note(CACHED)


def _show_secret(secret: str, key: ApiKey) -> None:
    scope = ", ".join(key.vaults) or "all vaults"
    until = "" if key.expires_at_s is None else f", until {_expiry(key)}"
    rights = f"{key.role} of tenant {key.tenant}, {scope}{until}, key {key.id}"
    say(secret)
    note(f"{rights}; keep the secret now, it cannot be shown again")


def _expiry(key: ApiKey) -> str:
    return "never" if key.expires_at_s is None else rfc3339(key.expires_at_s)


def _key_fields(key: ApiKey) -> dict[str, object]:
    return {
        "key_id": key.id,
        "key_sha256": key.sha256,
        "tenant": key.tenant,
        "role": key.role,
        "vaults": list(key.vaults),
        "groups": list(key.groups),
        "state": key.state(time.time()),
        "expires_at": None if key.expires_at_s is None else rfc3339(key.expires_at_s),
        "created_at": key.created_at,
        "label": key.label,
    }
