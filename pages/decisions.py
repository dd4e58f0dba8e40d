"""docs/adr/README.md, the list of decisions, written from their titles."""

from __future__ import annotations

import re
from pathlib import Path

ADR = Path(__file__).resolve().parents[1] / "docs/adr"

INTRODUCTION = """\
# Decisions

What was not obvious, why it was decided so, and what was measured. A decision that no longer holds is not removed: the
page that replaces it says so. A new page takes the next number and starts with `# NNNN: what was decided`; `make docs`
writes this list.
"""


def page() -> str:
    """The whole page."""
    return INTRODUCTION + "\n" + "".join(_item(path) for path in sorted(ADR.glob("[0-9]*.md")))


def _item(path: Path) -> str:
    first = path.read_text("utf-8").partition("\n")[0]
    number = path.name[:4]
    title = re.sub(r"^#\s*(\d+[:.]\s*)?", "", first)
    return f"- [{number}]({path.name}): {title}\n"
