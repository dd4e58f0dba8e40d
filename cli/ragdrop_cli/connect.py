"""`ragdrop connect`: let the commands in this folder talk to a stack on AWS."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ragdrop.errors import ConfigurationError, ConflictError
from ragdrop.ports.wiring import DeployedStack
from ragdrop_cli.options import AsObject
from ragdrop_cli.output import note, say, say_object
from ragdrop_cli.session import Session, session_of
from ragdrop_cli.stack import STACK_FILE, Stack, read_stack, write_stack

StackName = Annotated[
    str, typer.Argument(metavar="STACK", help="The stack's name, as given to `sam deploy`.", show_default=False)
]
TenantName = Annotated[
    str | None,
    typer.Option("--tenant", help="Make this tenant if it is missing, and an admin key of it.", show_default="no key"),
]
Replace = Annotated[bool, typer.Option("--replace", help="Overwrite a file that leads to another API.")]
File = Annotated[Path, typer.Option("--file", help="Where to write; RAGDROP_STACK then names it.")]


def connect(
    context: typer.Context,
    stack: StackName,
    tenant: TenantName = None,
    file: File = STACK_FILE,
    *,
    replace: Replace = False,
    as_json: AsObject = False,
) -> None:
    """Look a deployed stack up and write where it is, so that all commands in this folder use it (operator).

    AWS credentials and region are those of the AWS command line. The file holds the API's address, the bucket, what the
    functions run with, and with --tenant a key: only you can read it. Its secrets of models stay references.
    """
    session = session_of(context)
    path = session.folder / file
    before = read_stack(path) if path.exists() else None
    found = session.find(stack)
    if before is not None and before.api_url != found.api_url and not replace:
        raise ConfigurationError(f"{file} leads to {before.api_url}; --replace overwrites it")
    key = _key(session, found, tenant) if tenant else _kept_key(before, found)
    write_stack(path, Stack(path, found.api_url, key, found.bucket, found.environment))
    if as_json:
        told = {"stack": stack, "api_url": found.api_url, "bucket": found.bucket, "file": str(file), "tenant": tenant}
        say_object({**told, "has_key": bool(key)})
        return
    say(f"{stack}: the API is at {found.api_url}, documents go to s3://{found.bucket}/TENANT/VAULT/PATH")
    say(f"written to {file}" + (f", with an admin key of tenant {tenant}" if tenant else ""))
    if not key:
        note("next: give --tenant NAME to make a tenant and a key, or set RAGDROP_API_URL and RAGDROP_API_KEY")


def _key(session: Session, found: DeployedStack, tenant: str) -> str:
    operator = session.deploy({**session.environ, **found.environment}).operator
    try:
        operator.create_tenant(tenant)
    except ConflictError:
        note(f"tenant {tenant} is there already")
    secret, _key = operator.create_key(tenant, "admin", [], label="ragdrop connect")
    return secret


def _kept_key(before: Stack | None, found: DeployedStack) -> str:
    return before.api_key if before is not None and before.api_url == found.api_url else ""
