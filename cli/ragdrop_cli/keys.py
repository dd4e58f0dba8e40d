"""`ragdrop key`: make, list, rotate and revoke API keys; with AWS credentials instead of an API key."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from ragdrop.domain.tenants import ApiKey, Role
from ragdrop.domain.times import duration_s, rfc3339
from ragdrop_cli.options import AsObject, ManyVaults
from ragdrop_cli.output import note, say, say_object, say_table
from ragdrop_cli.session import session_of

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
Overlap = Annotated[str, typer.Option("--overlap", help="How long the old one goes on: 24h, 0s.")]
Label = Annotated[str, typer.Option("--label", help="What it is for, shown in lists.", show_default=False)]
CACHED = "it may open something for up to 60 seconds more"


def create(
    context: typer.Context,
    tenant: Owner,
    role: RoleName,
    vault: ManyVaults = None,
    expires: Expires = None,
    label: Label = "",
    *,
    as_json: AsObject = False,
) -> None:
    """Make an API key.  Its secret is shown this once; only its SHA-256 is kept."""
    lifetime_s = duration_s(expires) if expires else None
    operator = session_of(context).deployment().operator
    secret, key = operator.create_key(tenant, role, list(vault or []), lifetime_s=lifetime_s, label=label)
    if as_json:
        say_object({"api_key": secret, **_fields(key)})
        return
    say(secret)
    note(f"{_rights(key)}; keep the secret now, it cannot be shown again")


def list_all(context: typer.Context, tenant: Owner, *, as_json: AsObject = False) -> None:
    """List a tenant's keys, revoked and expired ones too; never their secrets.

    With --json one object a key, one a line.
    """
    keys = session_of(context).deployment().operator.keys(tenant)
    if as_json:
        for key in keys:
            say_object(_fields(key))
        return
    now_s = time.time()
    rows = [
        (key.id, key.role, ", ".join(key.vaults) or "all", key.state(now_s), _expiry(key), key.created_at, key.label)
        for key in keys
    ]
    say_table(("key", "role", "vaults", "state", "expires", "created", "label"), rows)


def rotate(
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
        say_object({"api_key": secret, **_fields(new), "replaces": _fields(old)})
        return
    say(secret)
    note(f"{_rights(new)}; keep the secret now, it cannot be shown again")
    note(f"key {old.id} expires {_expiry(old)}; {CACHED}")


def revoke(context: typer.Context, tenant: Owner, key_id: KeyId, *, as_json: AsObject = False) -> None:
    """Let a key open nothing any more, for good."""
    key = session_of(context).deployment().operator.revoke_key(tenant, key_id)
    if as_json:
        say_object(_fields(key))
        return
    say(f"key {key.id} of tenant {tenant} is revoked")
    note(CACHED)


def _rights(key: ApiKey) -> str:
    scope = ", ".join(key.vaults) or "all vaults"
    until = "" if key.expires_at_s is None else f", until {_expiry(key)}"
    return f"{key.role} of tenant {key.tenant}, {scope}{until}, key {key.id}"


def _expiry(key: ApiKey) -> str:
    return "never" if key.expires_at_s is None else rfc3339(key.expires_at_s)


def _fields(key: ApiKey) -> dict[str, object]:
    return {
        "key_id": key.id,
        "key_sha256": key.sha256,
        "tenant": key.tenant,
        "role": key.role,
        "vaults": list(key.vaults),
        "state": key.state(time.time()),
        "expires_at": None if key.expires_at_s is None else rfc3339(key.expires_at_s),
        "created_at": key.created_at,
        "label": key.label,
    }
