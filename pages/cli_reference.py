"""docs/cli.md, written from the command line's own tree of commands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

from typer.main import get_command

from ragdrop_cli.main import build


def part() -> str:
    """A section a command."""
    return "\n".join(_sections(get_command(build()), "ragdrop")).rstrip()


def _sections(command: Any, called: str) -> Iterator[str]:
    for name, below in command.commands.items():
        if hasattr(below, "commands"):
            yield from _sections(below, f"{called} {name}")
        else:
            yield from _section(below, f"{called} {name}")


def _section(command: Any, called: str) -> Iterator[str]:
    yield f"## `{called}`\n"
    yield _paragraphs(command.help)
    rows = [_row(parameter) for parameter in command.params]
    yield "| argument, option | default | meaning |\n|---|---|---|"
    yield "\n".join(rows) + "\n"
    for example in re.findall(r"Example: (.*)", command.epilog or ""):
        yield f"```bash\n{example}\n```\n"


def _paragraphs(text: str) -> str:
    return "\n\n".join(" ".join(each.split()) for each in text.split("\n\n")) + "\n"


def _row(parameter: Any) -> str:
    names = [*parameter.opts, *parameter.secondary_opts]
    if not names[0].startswith("-"):
        names = [(parameter.metavar or names[0]).upper()]
    shown = ", ".join(f"`{name}`" for name in names)
    choices = get_args(parameter.type_descriptor.annotation) if _is_literal(parameter) else ()
    allowed = f" One of {', '.join(f'`{choice}`' for choice in choices)}." if choices else ""
    return f"| {shown} | {_default(parameter)} | {_cell(parameter.help)}{allowed} |"


def _is_literal(parameter: Any) -> bool:
    return get_origin(parameter.type_descriptor.annotation) is Literal


def _default(parameter: Any) -> str:
    if parameter.required:
        return "required"
    reported = getattr(parameter, "show_default", None)
    if isinstance(reported, str):
        return _cell(reported)
    if getattr(parameter, "is_flag", False):
        return _cell(parameter.opts[0] if parameter.default else "off")
    return "" if parameter.default is None else f"`{_cell(parameter.default)}`"


def _cell(value: object) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")
