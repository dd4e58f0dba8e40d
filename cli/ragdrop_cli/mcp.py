"""`ragdrop mcp`: the tools of agents over standard input and output, for desktop clients."""

from __future__ import annotations

from typing import Annotated

import typer

from ragdrop.errors import ConfigurationError
from ragdrop_cli.session import session_of

WaitS = Annotated[
    float, typer.Option("--wait-s", min=1, max=3_600, help="Seconds that rag_context_index waits for a document.")
]


def mcp(context: typer.Context, *, wait_s: WaitS = 120.0) -> None:
    """Serve the MCP tools over standard input and output; a desktop client starts this command by itself.

    Needs `pip install 'ragdrop[mcp]'`. Standard output carries nothing but the protocol.
    """
    try:
        from ragdrop.api.mcp.server import serve
    except ModuleNotFoundError as exc:
        raise ConfigurationError(f"{exc.name} is not installed: pip install 'ragdrop[mcp]'") from exc
    with session_of(context).client() as client:
        serve(client, wait_s)
