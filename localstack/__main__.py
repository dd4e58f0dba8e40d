"""The local stack's command line: ``python -m localstack up | down | status | demo``."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from localstack import opensearch
from localstack.home import SHARED, Home, Progress, homes, read_json
from localstack.launch_options import INDEXES, home_for, without_own
from localstack.launcher import down, own_emulators, read_processes, up
from localstack.processes import LaunchError
from localstack.seed import WEB_PAGE, demo
from localstack.services import answers


def main(arguments: list[str] | None = None) -> int:
    """Run one command; 0 where it did what it was asked, 1 where a part of the stack failed or does not run."""
    options = _parser().parse_args(arguments)
    base = options.home.resolve()
    progress = Progress(quiet=options.quiet)
    try:
        if options.command == "down":
            for each in homes(base):
                down(each, progress)
        elif options.command == "status":
            return status(base, progress)
        else:
            environment = without_own(os.environ, own_emulators(base))
            home = home_for(base, environment, index=options.index)
            stack = up(home, environment, index=options.index, tenant=options.tenant, progress=progress)
            if options.command == "demo":
                demo(home, stack, progress)
            else:
                progress.say(f"The API is at {stack['api_url']}\nKey and addresses: {home.published_file}")
                progress.say(WEB_PAGE.format(**stack))
    except LaunchError as exc:
        sys.stderr.write(f"{exc}\n")
        return 1
    return 0


def status(base: Path, progress: Progress) -> int:
    """Show what runs and where; 0 where all of it runs."""
    started = [home for home in homes(base) if read_processes(home) or home.attached_file.exists()]
    if not started:
        progress.say("Nothing runs. Start it with: make up")
        return 1
    shown = [_show(home, progress) for home in started]
    return 0 if all(shown) else 1


def _show(home: Home, progress: Progress) -> bool:
    processes = read_processes(home).values()
    progress.say(f"the stack on the index {home.name}")
    if attached := read_json(home.attached_file):
        reached = answers(attached["endpoint_url"])
        said = "attached" if reached else "attached, but it does NOT answer"
        progress.say(f"  {'emulator':10} {said}: {attached['product']} at {attached['endpoint_url']}")
    else:
        reached = True
    for process in processes:
        said = "running" if process.running else "NOT running"
        progress.say(f"  {process.name:10} {said}, port {process.port}, pid {process.pid}")
    if home.name == "opensearch":
        node = opensearch.find(home.root)
        reached &= node is not None
        progress.say(f"  opensearch {node.url if node else 'NOT running'}")
    stack = read_json(home.stack_file)
    if stack.get("api_key"):
        progress.say(f"  api        {stack['api_url']}")
        progress.say(f"  page       {stack['api_url']}/app, signed in by: .venv/bin/ragdrop open")
    return reached and all(process.running for process in processes)


EXPLAINED = """
Each index has its own stack below the folder (--home): a document stays on the index that its tenant began with,
so what was pushed with one index is not on the other. Both may run at once; stack.json, which `ragdrop` reads, names
the one that was brought up last, and `down` stops all of them. With --index opensearch OPENSEARCH_URL names a node of
your own; without it one is assembled by Maven for a JDK 21+, or run by Docker.

AWS_ENDPOINT_URL, LOCALSTACK_HOST or EDGE_PORT names an emulator that runs already: `up` attaches to it, and `down`
leaves it running. RAGDROP_BIND=0.0.0.0 lets containers reach emulator and model servers.
"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m localstack", description=__doc__, epilog=EXPLAINED)
    parser.add_argument("command", choices=["up", "down", "status", "demo"])
    parser.add_argument("--home", type=Path, default=SHARED, help="the folder of the stacks; default: .local")
    parser.add_argument("--index", default=INDEXES[0], choices=INDEXES, help="the chunk index; default: %(default)s")
    parser.add_argument("--tenant", default="demo", help="the tenant that is made; default: %(default)s")
    parser.add_argument("--quiet", action="store_true", help="say nothing but errors")
    return parser


if __name__ == "__main__":
    sys.exit(main())
