"""`python -m pages`: write the pages that are made from code; with `--check` only say which are not current."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from pages import access, architecture, cli_reference, cost_index, decisions, formats, formats_outcomes, settings
from pages.wrap import wrapped

DOCS = Path(__file__).resolve().parents[1] / "docs"


def _wrapping(page: Callable[[], str]) -> Callable[[], str]:
    return lambda: wrapped(page())


PAGES: dict[str, Callable[[], str]] = {
    "access.md": _wrapping(access.page),
    "architecture.md": architecture.page,
    "adr/README.md": _wrapping(decisions.page),
    "cli.md": _wrapping(cli_reference.page),
    "cost.md": _wrapping(cost_index.page),
    "formats.md": _wrapping(formats.page),
    "settings.md": _wrapping(settings.page),
    "evidence/formats-outcomes.md": _wrapping(formats_outcomes.page),
}


def outdated() -> list[str]:
    """Names of the pages in docs/ that are not what the code says."""
    return [name for name, page in PAGES.items() if _kept(name) != page()]


def _kept(name: str) -> str:
    path = DOCS / name
    return path.read_text("utf-8") if path.is_file() else ""


def main(arguments: list[str]) -> int:
    """Write the pages that are not current; 1 where `--check` finds one."""
    for name in (found := outdated()):
        sys.stdout.write(f"docs/{name} {'is not current: make docs' if '--check' in arguments else 'written'}\n")
        if "--check" not in arguments:
            (DOCS / name).write_text(PAGES[name](), encoding="utf-8")
    return 1 if found and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
