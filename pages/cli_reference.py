"""docs/cli.md, written from the command line's own tree of commands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

from typer.main import get_command

from ragdrop_cli.main import build

INTRODUCTION = """\
# The command line

In a clone the command is `.venv/bin/ragdrop`. Elsewhere it comes with the wheel, which needs no clone and no AWS
packages:

<!-- not run: it installs for the user; tests/integration/test_wheel.py runs the same commands -->
```sh
make wheel                                    # in a clone: dist/ragdrop-0.1.0-py3-none-any.whl, and the source archive
pipx install ./dist/ragdrop-0.1.0-py3-none-any.whl
ragdrop --version
```

`pip install` of the same file brings the [Python client](client.md) too. The file's name with `[operator]` or `[mcp]`
at its end, in quotes, installs what those commands need.

The API is where `RAGDROP_API_URL` and `RAGDROP_API_KEY` say, else where `.local/stack.json` says, here or in a parent
folder (`RAGDROP_STACK` names another file). `tenant`, `key` and what is marked (operator) use AWS credentials instead
of a key and need `pip install 'ragdrop[operator]'`.

| exit code | means |
|---|---|
| 0 | all went well |
| 1 | the request, or a file of it, failed; a gate was missed |
| 2 | the command or its settings are wrong: nothing was done |
| 3 | the API, or a service behind it, could not be reached: the same may succeed later |
| 130 | Ctrl-C: what was sent stays, and the same command continues where it was |

An error is two lines on standard error: its code with what happened, and the next step. With `--json` standard output
has one JSON object a line and nothing else: what the API sent, an error's body too. Off a terminal there are no
colours, tables are tab-separated lines without a head, and progress is a line every 100. `NO_COLOR` turns colours off
on a terminal too.

`eval "$(ragdrop completion bash)"` completes commands and options; put it into `~/.bashrc`, or the like for zsh, fish
and PowerShell.

This page is written by `make docs` from `ragdrop --help`.
"""


def page() -> str:
    """The whole page."""
    root = get_command(build())
    return "\n".join([INTRODUCTION, *_sections(root, "ragdrop")]).rstrip() + "\n"


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
    told = getattr(parameter, "show_default", None)
    if isinstance(told, str):
        return _cell(told)
    if getattr(parameter, "is_flag", False):
        return _cell(parameter.opts[0] if parameter.default else "off")
    return "" if parameter.default is None else f"`{_cell(parameter.default)}`"


def _cell(value: object) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")
