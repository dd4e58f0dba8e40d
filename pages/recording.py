"""docs/recording.svg: the README's two commands, really run, as a picture of a terminal."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs/recording.svg"
COMMANDS = ("make demo", '.venv/bin/ragdrop ask "How long are backups kept?"')
WIDTH = 112  # characters
TIMEOUT_S = 600


def run(command: str) -> str:
    """What *command* prints, as a terminal of that width shows it."""
    done = subprocess.run(  # noqa: S603 -- the two commands above
        ["bash", "-c", command],  # noqa: S607
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
        timeout=TIMEOUT_S,
    )
    return without_this_machine(done.stdout)


def without_this_machine(printed: str) -> str:
    """*printed* with the clone where everybody's is, and without where the API happens to be.

    >>> without_this_machine(f"in {ROOT}/.local/stack.json")
    'in ~/ragdrop/.local/stack.json'
    """
    return re.sub(r"restapis/\w+/", "restapis/…/", printed.replace(str(ROOT), "~/ragdrop"))


def picture(session: list[tuple[str, str]]) -> str:
    """The session as SVG that loads nothing from elsewhere."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, highlight=False)
    for command, printed in session:
        console.print(Text.assemble(("$ ", "bold green"), (command, "bold")))
        console.print(Text(printed))
    svg = console.export_svg(title="ragdrop", unique_id="ragdrop")
    return re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL).replace(
        "Fira Code", "ui-monospace, Menlo, Consolas"
    )


if __name__ == "__main__":
    PICTURE.write_text(picture([(command, run(command)) for command in COMMANDS]), encoding="utf-8")
    sys.stdout.write(f"{PICTURE.relative_to(ROOT)} written\n")
