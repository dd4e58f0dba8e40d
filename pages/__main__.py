"""`python -m pages`: write the parts of pages that are made from code; with `--check` only report what is not current.

A part stands between `<!-- NAME: written by make docs -->` and `<!-- end of NAME -->`; the rest is written by hand.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from pages import (
    access,
    architecture,
    cli_reference,
    cost,
    cost_index,
    decisions,
    formats_outcomes,
    permissions,
    prompts,
    settings,
)
from pages.wrap import placed, wrapped

DOCS = Path(__file__).resolve().parents[1] / "docs"
PARTS: Mapping[str, Mapping[str, Callable[[], str]]] = {
    "access.md": {"access": access.part, "permissions": permissions.part},
    "architecture.md": {"imports": architecture.part},
    "adr/README.md": {"decisions": decisions.part},
    "cli.md": {"commands": cli_reference.part},
    "cost.md": {
        "idle": cost.idle_table,
        "models": cost.models_table,
        "month": cost.table,
        "index-month": cost_index.table,
        "others-month": cost_index.others_table,
    },
    "evidence/formats-outcomes.md": {"outcomes": formats_outcomes.part},
    "prompts.md": {"figures": prompts.figures, "system": prompts.system, "messages": prompts.messages},
    "settings.md": {"variables": settings.variables, "document": settings.document, "files": settings.files},
}


def page(name: str) -> str:
    """The page that should be there."""
    text = (DOCS / name).read_text("utf-8")
    for part, write in PARTS[name].items():
        text = placed(text, part, write())
    return wrapped(text)


def _page(name: str) -> Callable[[], str]:
    return lambda: page(name)


PAGES: Mapping[str, Callable[[], str]] = {name: _page(name) for name in PARTS}


def outdated() -> list[str]:
    """Names of the pages in docs/ that are not what the code says."""
    return [name for name, write in PAGES.items() if (DOCS / name).read_text("utf-8") != write()]


def main(arguments: list[str]) -> int:
    """Write the pages that are not current; 1 if `--check` finds one."""
    for name in (found := outdated()):
        sys.stdout.write(f"docs/{name} {'is not current: make docs' if '--check' in arguments else 'written'}\n")
        if "--check" not in arguments:
            (DOCS / name).write_text(PAGES[name](), encoding="utf-8")
    return 1 if found and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
