"""The styles of an OpenDocument text: what is raised, lowered or struck, and how headings and lists are numbered."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple
from xml.etree.ElementTree import Element

from readers.markdown_writer import lowered, raised, struck
from readers.office.docx_numbers import lettered, roman
from readers.office.package import attribute, below, child, local

MAX_PARENTS = 20
_POSITION = re.compile(r"(super|sub|-?\d+)")


class _Level(NamedTuple):
    """How a level of a list or of headings is numbered; an empty *form* is a bullet or nothing."""

    form: str
    prefix: str
    suffix: str
    shown: int
    start: int


class TextStyles:
    """The styles of a document.

    Args:
        roots: The parts that hold styles; those that are missing are None.
    """

    def __init__(self, roots: Iterable[Element | None]) -> None:
        self._styles: dict[str, Element] = {}
        self._levels: dict[str, dict[int, _Level]] = {}
        for root in (root for root in roots if root is not None):
            for node in root.iter():
                kind = local(node)
                if kind == "style":
                    self._styles[attribute(node, "name")] = node
                elif kind in {"list-style", "outline-style"}:
                    name = attribute(node, "name") if kind == "list-style" else ""
                    self._levels[name] = {_integer(each, "level", 1): _level(each) for each in node}
        self._cached: dict[str, tuple[str, bool]] = {}

    def written(self, text: str, style: str, before: str) -> str:
        """Text as a style shows it, behind *before*: raised, lowered or struck."""
        if not style:
            return text
        shift, is_struck = self._look(style)
        if shift and before.strip():
            text = lowered(text, before) if shift.startswith(("sub", "-")) else raised(text, before)
        return struck(text) if is_struck else text

    def _look(self, name: str) -> tuple[str, bool]:
        if name not in self._cached:
            shift, line, at = "", "", name
            for _ in range(MAX_PARENTS):
                style = self._styles.get(at)
                properties = child(style, "text-properties")
                if properties is not None:
                    shift = shift or attribute(properties, "text-position")
                    line = line or attribute(properties, "text-line-through-style")
                    line = line or attribute(properties, "text-line-through-type")
                at = attribute(style, "parent-style-name") if style is not None else ""
            found = _POSITION.match(shift)
            self._cached[name] = ("" if found is None or found[1] == "0" else found[1], line not in {"", "none"})
        return self._cached[name]

    def levels(self, style: str) -> dict[int, _Level]:
        """The levels of a list style, from 1; those of headings where it is empty."""
        return self._levels.get(style, {})


class TextNumbers:
    """Counts headings and items of lists, which must be asked about in order."""

    def __init__(self, styles: TextStyles) -> None:
        self._styles = styles
        self._counts: dict[str, dict[int, int]] = {}

    def begin(self, style: str, level: int) -> None:
        """Let the items of a list that begins count from its start."""
        for each in [each for each in self._counts.get(style, {}) if each >= level]:
            del self._counts[style][each]

    def label(self, style: str, level: int, start: str) -> str:
        """What stands before the next item or heading: empty where it has no number.

        Args:
            style: The list style; empty for headings.
            level: The level, from 1.
            start: The number that the item itself sets; empty where it counts on.
        """
        levels, counts = self._styles.levels(style), self._counts.setdefault(style, {})
        own = levels.get(level)
        if own is None:
            return ""
        counts[level] = int(start[:9]) if start.isdecimal() else counts.get(level, own.start - 1) + 1
        for each in [each for each in counts if each > level]:
            del counts[each]
        if not own.form:
            return ""
        shown = [at for at in range(max(level - own.shown, 0) + 1, level + 1) if at in levels and levels[at].form]
        numbers = (_form(levels[at].form, counts.get(at, levels[at].start)) for at in shown)
        return f"{own.prefix}{'.'.join(numbers)}{own.suffix}".strip()


def _level(node: Element) -> _Level:
    return _Level(
        attribute(node, "num-format"),
        attribute(node, "num-prefix"),
        attribute(node, "num-suffix"),
        _integer(node, "display-levels", 1),
        _integer(node, "start-value", 1),
    )


def _form(form: str, number: int) -> str:
    match form[:1]:
        case "i":
            return roman(number)
        case "I":
            return roman(number).upper()
        case "a":
            return lettered(number)
        case "A":
            return lettered(number).upper()
    return str(number)


def note_text(body: Element | None) -> str:
    """The paragraphs of a note in one line."""
    return " ".join("".join(each.itertext()) for each in below(body, "p")) if body is not None else ""


def _integer(node: Element, name: str, usual: int) -> int:
    written = attribute(node, name)
    return int(written[:9]) if written.isdecimal() else usual
