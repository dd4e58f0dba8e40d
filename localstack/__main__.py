"""The local stack's command line: ``python -m localstack up | down | status | demo``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from localstack.demo import demo
from localstack.home import SHARED, Home, read_json
from localstack.launcher import down, read_processes, up
from localstack.processes import LaunchError
from localstack.progress import Progress


def main(arguments: list[str] | None = None) -> int:
    """Run one command; 0 where it did what it was asked, 1 where a part of the stack failed or does not run."""
    options = _parser().parse_args(arguments)
    home = Home(options.home.resolve())
    progress = Progress(quiet=options.quiet)
    try:
        if options.command == "down":
            down(home, progress)
        elif options.command == "status":
            return status(home, progress)
        else:
            stack = up(home, index=options.index, progress=progress)
            if options.command == "demo":
                demo(home, stack, progress)
            else:
                progress.say(f"The API is at {stack['api_url']}\nKey and addresses: {home.stack_file}")
    except LaunchError as exc:
        sys.stderr.write(f"{exc}\n")
        return 1
    return 0


def status(home: Home, progress: Progress) -> int:
    """Show what runs and where; 0 where all of it runs."""
    processes = read_processes(home)
    stack = read_json(home.stack_file)
    for process in processes.values():
        said = "running" if process.running else "NOT running"
        progress.say(f"{process.name:10} {said}, port {process.port}, pid {process.pid}")
    if not processes:
        progress.say("Nothing runs. Start it with: make up")
        return 1
    if stack.get("api_key"):
        progress.say(f"api        {stack['api_url']}")
    return 0 if all(process.running for process in processes.values()) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m localstack", description=__doc__)
    parser.add_argument("command", choices=["up", "down", "status", "demo"])
    parser.add_argument("--home", type=Path, default=SHARED, help="the stack's folder (default: .local)")
    parser.add_argument("--index", default="embedded", help="the chunk index: embedded")
    parser.add_argument("--quiet", action="store_true", help="say nothing but errors")
    return parser


if __name__ == "__main__":
    sys.exit(main())
