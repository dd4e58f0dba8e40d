"""docs/settings.md: its tables are the model of settings, its prose is written by hand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any

from ragdrop.config import DEPLOYMENT_SETTINGS, Settings
from ragdrop.domain.settings import FILE_SETTINGS, TUNABLES, Setting

PAGE = Path(__file__).resolve().parents[1] / "docs/settings.md"
TABLE = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
FIELDS: Mapping[str, Field[Any]] = {each.name: each for each in fields(Settings)}


def page() -> str:
    """The page with the tables of the model."""
    return TABLE.sub(lambda found: "\n".join([found[1], *TABLES[found[2]](), "", found[3]]), PAGE.read_text("utf-8"))


def _stack() -> Iterator[str]:
    yield from ("| variable | default | allowed | meaning |", "|---|---|---|---|")
    for name, each in DEPLOYMENT_SETTINGS.items():
        if "document" not in each.places:
            yield _row(f"`{name.upper()}`", _default(name), each.rule.allowed, each.about)


def _document() -> Iterator[str]:
    yield from ("| setting | default | allowed | meaning |", "|---|---|---|---|")
    for name, each in DEPLOYMENT_SETTINGS.items():
        if "document" in each.places and name not in TUNABLES:
            yield _row(f"`{name}`", _default(name), each.rule.allowed, each.about)


def _files() -> Iterator[str]:
    yield from ("| setting | nested name | default | allowed | set by | meaning |", "|---|---|---|---|---|---|")
    for name, each in FILE_SETTINGS.items():
        default = _default(name) if name in TUNABLES else "none"
        yield _row(f"`{name}`", f"`{each.nested}`", default, each.rule.allowed, _places(each), each.about)


TABLES = {"stack": _stack, "document": _document, "files": _files}


def _row(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _places(each: Setting) -> str:
    """Who may set it, the deployment aside, which may set all but the file's own."""
    deployment = ["deployment"] if "document" in each.places else []
    return ", ".join([*deployment, *(place for place in each.places if place not in {"environment", "document"})])


def _default(name: str) -> str:
    each = FIELDS[name]
    if each.default is MISSING:
        return "required" if each.default_factory is MISSING else "none"
    if each.default in (None, "", ()):
        return "auto" if name == "max_results" else "none"
    if isinstance(each.default, bool):
        return str(each.default).lower()
    return f"`{each.default}`" if isinstance(each.default, str) else f"{each.default:,}"
