"""How other programs reach ragdrop: `ragdrop connect`, `open`, `mcp` and `completion`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from typer.completion import get_completion_inspect_parameters, get_completion_script  # type: ignore[attr-defined]

from ragdrop.errors import ConfigurationError, ConflictError
from ragdrop.ports.message_queue import DeployedStack
from ragdrop_cli.options import AsJson, AsObject
from ragdrop_cli.output import note, say, say_object
from ragdrop_cli.session import STACK_FILE, Session, Stack, api_of, read_stack, session_of, write_stack

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
    if tenant:
        key = _new_key(session, found, tenant)
    else:
        key = before.api_key if before is not None and before.api_url == found.api_url else ""
    write_stack(path, Stack(path, found.api_url, key, found.bucket, found.environment))
    if as_json:
        fields = {"stack": stack, "api_url": found.api_url, "bucket": found.bucket, "file": str(file)}
        say_object({**fields, "tenant": tenant, "has_key": bool(key)})
        return
    say(f"{stack}: the API is at {found.api_url}, documents go to s3://{found.bucket}/TENANT/VAULT/PATH")
    say(f"written to {file}" + (f", with an admin key of tenant {tenant}" if tenant else ""))
    if not key:
        note("next: give --tenant NAME to make a tenant and a key, or set RAGDROP_API_URL and RAGDROP_API_KEY")


def _new_key(session: Session, found: DeployedStack, tenant: str) -> str:
    operator = session.deploy({**session.environ, **found.environment}).operator
    try:
        operator.create_tenant(tenant)
    except ConflictError:
        note(f"tenant {tenant} is there already")
    secret, _key = operator.create_key(tenant, "admin", [], label="ragdrop connect")
    return secret


PrintOnly = Annotated[bool, typer.Option("--print", help="Print the link and start no browser.")]


def open_page(context: typer.Context, *, print_only: PrintOnly = False, as_json: AsJson = False) -> None:
    """Open the web page signed in, by a link that works once, within a minute."""
    session = session_of(context)
    api_url, _ = api_of(session.environ, session.folder)
    with session.client() as client:
        link = client.sign_in_link()
    url = f"{api_url.rstrip('/')}/app#/sign-in/{link['code']}"
    if as_json:
        say_object({"url": url, "expires_at": link["expires_at"]})
        return
    if not print_only and session.browse(url):
        say(f"opened {api_url.rstrip('/')}/app")
        return
    if not print_only:
        note("no browser could be started: open the link yourself")
    say(url)
    note(f"the link works once, until {link['expires_at']}")


WaitS = Annotated[
    float, typer.Option("--wait-s", min=1, max=3_600, help="Seconds that rag_context_index waits for a document.")
]


def mcp(context: typer.Context, *, wait_s: WaitS = 120.0) -> None:
    """Serve the MCP tools over standard input and output; a desktop client starts this command.

    Needs `pip install 'ragdrop[mcp]'`. Standard output carries nothing but the protocol.
    """
    try:
        from ragdrop.api.mcp.server import serve
    except ModuleNotFoundError as exc:
        raise ConfigurationError(f"{exc.name} is not installed: pip install 'ragdrop[mcp]'") from exc
    with session_of(context).client() as client:
        serve(client, wait_s)


COMPLETE_VAR = "_RAGDROP_COMPLETE"  # the shell asks the command itself, by this variable


class Shell(StrEnum):
    """The shells that can be helped."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"
    POWERSHELL = "powershell"


ShellName = Annotated[Shell, typer.Argument(metavar="SHELL", help="bash, zsh, fish or powershell.", show_default=False)]


def answer_shells() -> None:
    """Let the command answer a shell that asks for completions; without it Typer knows no shell by name."""
    get_completion_inspect_parameters()


def completion(shell: ShellName, *, as_json: AsObject = False) -> None:
    """Print the script that makes a shell complete ragdrop's commands and options.

    Nothing is installed and no shell is guessed: put the line of the example into ~/.bashrc, or the like for yours.
    """
    script = get_completion_script(prog_name="ragdrop", complete_var=COMPLETE_VAR, shell=shell.value)
    if as_json:
        say_object({"shell": shell.value, "script": script})
    else:
        typer.echo(script)
