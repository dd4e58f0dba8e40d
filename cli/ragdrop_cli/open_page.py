"""`ragdrop open`: the web page in a browser, signed in."""

from __future__ import annotations

from typing import Annotated

import typer

from ragdrop_cli.options import AsJson
from ragdrop_cli.output import note, say, say_object
from ragdrop_cli.session import session_of
from ragdrop_cli.stack import api_of

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
