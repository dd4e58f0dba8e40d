"""`ragdrop tenant` and `ragdrop key`: operator commands, which use AWS credentials instead of an API key."""

from __future__ import annotations

from typing import Annotated

import typer

from ragdrop.domain.tenants import Role
from ragdrop.errors import ConflictError
from ragdrop_cli.options import AsObject, ManyVaults
from ragdrop_cli.output import note, say, say_object
from ragdrop_cli.session import session_of

TenantName = Annotated[str, typer.Argument(metavar="NAME", help="2 to 63 of a-z, 0-9 and -.", show_default=False)]
Owner = Annotated[str, typer.Argument(metavar="TENANT", help="The tenant that the key opens.", show_default=False)]
RoleName = Annotated[Role, typer.Option("--role", help="What the key may do.", show_default=False)]
IfMissing = Annotated[bool, typer.Option("--if-missing", help="A tenant that is there already is no error.")]


def create_tenant(
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


def create_key(
    context: typer.Context, tenant: Owner, role: RoleName, vault: ManyVaults = None, *, as_json: AsObject = False
) -> None:
    """Make an API key.  Its secret is shown this once; only its SHA-256 is kept."""
    secret, key = session_of(context).deployment().operator.create_key(tenant, role, list(vault or []))
    if as_json:
        fields = {"api_key": secret, "tenant": key.tenant, "role": key.role, "vaults": list(key.vaults)}
        say_object({**fields, "key_sha256": key.sha256})
        return
    say(secret)
    scope = ", ".join(key.vaults) or "all vaults"
    note(f"{key.role} of tenant {key.tenant}, {scope}; keep the secret now, it cannot be shown again")
