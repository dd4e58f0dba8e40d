"""Markers in an answer: `[2]`, `[1, 3]`, and the forms by file name, as models write them."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ragdrop.domain.answers import Segment

MAX_MARKER_CHARS = 400  # an opening bracket that is not closed by then begins no marker

_ONE = (
    r"\[\s*\d{1,3}(?:\s*[,;]\s*\d{1,3})*\s*\]"
    r"|\[\s*[Ff]ile:[^\]\n]{1,300}\]"
    r"|\(\s*[Ss]ource:[^)\n]{1,300}\)"
)
_LINK = r"(?!\((?!\s*[Ss]ource:)[^()\s]+\))"  # `[1](url)` is a link of Markdown, not a marker
GROUP = re.compile(rf"\s*(?:{_ONE}){_LINK}(?:\s?(?:{_ONE}){_LINK})*")
MAY_BE_LINK = re.compile(r"\([^()\s]{0,300}\Z")
_EACH = re.compile(_ONE)
_NUMBER = re.compile(r"\d{1,3}")
_FILE = re.compile(r"file:\s*(?P<name>[^,\]]+?)\s*(?:,\s*section:\s*(?P<section>[^\]]+?)\s*)?\]", re.IGNORECASE)
_SOURCE = re.compile(r"source:\s*(?P<name>[^)]+?)\s*\)", re.IGNORECASE)
_BRACKET = re.compile(r"[\[(]")


@dataclass(frozen=True, slots=True)
class MarkerGroup:
    """Markers that stand together: the numbers of the segments they name, and whether one of them names nothing."""

    numbers: tuple[int, ...]
    has_unknown: bool


def resolve(
    group: str, segments: Sequence[Segment], prefer: Callable[[Sequence[Segment]], Segment] = operator.itemgetter(0)
) -> MarkerGroup:
    """The segments that the markers of *group* name; of those that one path or file name fits, *prefer* says which.

    >>> resolve("[1, 7]", [])
    MarkerGroup(numbers=(), has_unknown=True)
    """
    known = {segment.number for segment in segments}
    numbers: list[int] = []
    unknown = False
    for marker in _EACH.findall(group):
        named = _named(marker, segments, prefer)
        numbers += [number for number in named if number in known]
        unknown = unknown or any(number not in known for number in named) or not named
    return MarkerGroup(tuple(dict.fromkeys(numbers)), unknown)


def held_back(text: str) -> int:
    """Where the end of *text* begins that may still become a marker: white space, an opening bracket.

    >>> held_back("It is red. [1"), held_back("It is red."), held_back("See (the figure) now ")
    (10, 10, 20)
    """
    tail = max(0, len(text) - MAX_MARKER_CHARS)
    for bracket in _BRACKET.finditer(text, tail):
        if _may_become_marker(text[bracket.start() :]):
            return len(text[: bracket.start()].rstrip())
    return len(text.rstrip())


def _may_become_marker(opened: str) -> bool:
    inside = opened[1:].lstrip().casefold()
    if "\n" in inside or ("]" if opened[0] == "[" else ")") in inside:
        return False
    if opened[0] == "[":
        return re.fullmatch(r"[\d\s,;]*", inside) is not None or _begins(inside, "file:")
    return _begins(inside, "source:")


def _begins(inside: str, word: str) -> bool:
    return word.startswith(inside) or inside.startswith(word)


def _named(marker: str, segments: Sequence[Segment], prefer: Callable[[Sequence[Segment]], Segment]) -> list[int]:
    by_file = _FILE.search(marker) or _SOURCE.search(marker)
    if by_file is None:
        return [int(number) for number in _NUMBER.findall(marker)]
    name = by_file["name"].strip("`'\" ").casefold()
    section = (by_file.groupdict().get("section") or "").strip("`'\" ").casefold()
    held = [segment for segment in segments if _is_named(segment, name)]
    in_section = [
        s for s in held if section and section in (heading.casefold() for heading in s.hit.chunk.heading_path)
    ]
    fitting = in_section or held
    return [prefer(fitting).number] if fitting else []


def _is_named(segment: Segment, name: str) -> bool:
    key = segment.hit.key
    spellings = (key.path, key.vault_path, key.s3_key, key.path.rpartition("/")[2], segment.hit.facts.title)
    return name in {spelling.casefold() for spelling in spellings}
