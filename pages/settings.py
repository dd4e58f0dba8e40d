"""The tables of docs/settings.md: the model of settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from typing import Any

from pages.wrap import table
from ragdrop.config import DEPLOYMENT_SETTINGS, Settings
from ragdrop.domain.settings import FILE_SETTINGS, TUNABLES, Setting

FIELDS: Mapping[str, Field[Any]] = {each.name: each for each in fields(Settings)}


def variables() -> str:
    """The settings that the template sets."""
    own = [name for name, each in DEPLOYMENT_SETTINGS.items() if "document" not in each.places]
    return table([("variable", *HEADER), *(_row(name, name.upper(), DEPLOYMENT_SETTINGS[name]) for name in own)])


def document() -> str:
    """The settings of the document that no settings file may change."""
    own = [name for name, each in DEPLOYMENT_SETTINGS.items() if "document" in each.places and name not in TUNABLES]
    return table([("setting", *HEADER), *(_row(name, name, DEPLOYMENT_SETTINGS[name]) for name in own)])


def files() -> str:
    """The settings that settings files may change."""
    rows = [(*_row(name, name, each), f"`{each.nested}`", _places(each)) for name, each in FILE_SETTINGS.items()]
    return table([("setting", *HEADER, "nested name", "set by"), *rows])


HEADER = ("default", "allowed", "meaning")


def _row(name: str, shown: str, each: Setting) -> tuple[str, ...]:
    cells = (f"`{shown}`", _default(name), each.rule.allowed, each.about)
    return tuple(cell.replace("|", "\\|") for cell in cells)


def _places(each: Setting) -> str:
    """Who may set it, the deployment aside, which may set all but the file's own."""
    deployment = ["deployment"] if "document" in each.places else []
    return ", ".join([*deployment, *(place for place in each.places if place not in {"environment", "document"})])


def _default(name: str) -> str:
    each = FIELDS.get(name)
    if each is None:
        return "none"
    if each.default is MISSING:
        return "required" if each.default_factory is MISSING else "none"
    if each.default in (None, "", ()):
        return "auto" if name == "max_results" else "none"
    if isinstance(each.default, bool):
        return str(each.default).lower()
    return f"`{each.default}`" if isinstance(each.default, str) else f"{each.default:,}"
