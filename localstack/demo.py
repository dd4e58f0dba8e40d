"""``demo``: the sample vault dropped into S3, a question asked over HTTP, the citations checked in the objects."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

from localstack.deploy import Emulated
from localstack.home import REPOSITORY, Home
from localstack.processes import LaunchError
from localstack.progress import Progress
from localstack.seed import ragdrop, ragdrop_json

VAULT = "handbook"
SAMPLE = REPOSITORY / "localstack/sample-vault"
WEB_PAGE = "The web page is at {api_url}/app\nOpen it signed in with: .venv/bin/ragdrop open"
QUESTION = "How long should on-call wait before promoting the standby database?"


def demo(home: Home, stack: Mapping[str, Any], progress: Progress) -> None:
    """Push the sample vault, ask, and print the answer with what stands in S3 at each citation's span.

    Raises:
        LaunchError: Nothing was cited, or a quote does not stand in its object.
    """
    with progress.shown(), progress.step("the sample vault, dropped into S3 and indexed"):
        ragdrop(home, ["push", str(SAMPLE), "--vault", VAULT, "--wait"])
    reply = ragdrop_json(home, ["ask", QUESTION])
    progress.say("")
    progress.say(f"[bold]Question[/]  {QUESTION}")
    progress.say("[bold]Answer[/]")
    progress.console.print(textwrap.indent(str(reply["answer"]), "  "), markup=False)
    citations = [citation for citation in reply["citations"] if citation["quote"]]
    if not citations:
        raise LaunchError("the answer cites nothing")
    objects = Emulated(stack["endpoint_url"], stack["environment"]).client("s3")
    progress.say("[bold]Citations[/]")
    for citation in citations:
        show(progress, citation, checked=stands_in_object(objects, citation))
    progress.say("")
    progress.say(WEB_PAGE.format(**stack))
    progress.say(f"The API is at {stack['api_url']}")
    progress.say(f"Its key and all other addresses are in {home.published_file}")
    progress.say('Ask more with: .venv/bin/ragdrop ask "…"')
    progress.say("Stop it with: make down")


def stands_in_object(objects: Any, citation: Mapping[str, Any]) -> bool:
    """Whether the quote is, letter for letter, what the cited version of the object has at the cited span."""
    version = {"VersionId": citation["version_id"]} if citation["version_id"] else {}
    body = objects.get_object(Bucket=citation["bucket"], Key=citation["key"], **version)["Body"].read()
    text: str = body.decode("utf-8")[citation["start"] : citation["end"]]
    return text == str(citation["quote"])


def show(progress: Progress, citation: Mapping[str, Any], *, checked: bool) -> None:
    """Print one citation.

    Raises:
        LaunchError: It does not stand in its object.
    """
    place = f"s3://{citation['bucket']}/{citation['key']}"
    text = f"  [{citation['marker']}] {place} characters {citation['start']}-{citation['end']}"
    progress.console.print(text, markup=False)
    progress.console.print(textwrap.indent(f"“{citation['quote']}”", "      "), markup=False)
    if not checked:
        raise LaunchError(f"the quote does not stand at that span of {place}")
    progress.console.print("      read back from S3: stands there letter for letter", markup=False)
