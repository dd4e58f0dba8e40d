"""docs/adr/README.md, the list of decisions, written from their titles."""

from __future__ import annotations

import re
from pathlib import Path

ADR = Path(__file__).resolve().parents[1] / "docs/adr"


def part() -> str:
    """A line a decision."""
    return "".join(_item(path) for path in sorted(ADR.glob("[0-9]*.md"))).rstrip()


def _item(path: Path) -> str:
    first = path.read_text("utf-8").partition("\n")[0]
    number = path.name[:4]
    title = re.sub(r"^#\s*(\d+[:.]\s*)?", "", first)
    return f"- [{number}]({path.name}): {title}\n"
