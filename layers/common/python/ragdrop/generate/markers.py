"""Markers in an answer: `[2]`, `[1, 3]`, `[S2]`, `[missing]`, and the forms by file name, as models write them."""

import re
from collections.abc import Callable, Container, Sequence
from functools import cached_property, lru_cache

UNKNOWN_MARKER = "unknown_marker"  # the reason of a sentence whose markers name no source
MAX_MARKER_CHARS = 400  # an opening bracket that is not closed by then begins no marker

_BY_NAME = r"\[\s*[Ff]ile:[^\]\n]{1,300}\]|\(\s*[Ss]ource:[^)\n]{1,300}\)"
_LINK = r"(?!\((?!\s*[Ss]ource:)[^()\s]+\))"  # `[1](url)` is a link of Markdown, not a marker
MAY_BE_LINK = re.compile(r"\([^()\s]{0,300}\Z")
_MISSING = r"\[\s*missing\s*\]"  # behind a sentence that says what the sources do not say
_ANY = re.compile(rf"\[[^\]\n]*\d\s*\]|{_BY_NAME}")  # any form, once it is known to be a marker
_NUMBER = re.compile(r"\d{1,3}")
_FILE = re.compile(r"file:\s*(?P<name>[^,\]]+?)\s*(?:,\s*section:\s*(?P<section>[^\]]+?)\s*)?\]", re.IGNORECASE)
_SOURCE = re.compile(r"source:\s*(?P<name>[^)]+?)\s*\)", re.IGNORECASE)
_BRACKET = re.compile(r"[\[(]")
_LAST_WORD = re.compile(r"\S*\s*\Z")
_MARKS = re.compile(r"[\s*_`\\]+")


@lru_cache(maxsize=8)
def _patterns(prefix: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """One marker, and markers that stand together with the white space before them."""
    number = rf"(?:{prefix})?\s*\d{{1,3}}"
    one = rf"\[\s*{number}(?:\s*[,;]\s*{number})*\s*\]|{_BY_NAME}|{_MISSING}"
    return re.compile(one, re.IGNORECASE), re.compile(rf"\s*(?:{one}){_LINK}(?:\s?(?:{one}){_LINK})*", re.IGNORECASE)


class MarkerReader:
    """Separate the markers of an answer from brackets of the documents' own text.

    Args:
        prefix: Stands before the numbers of sources in the prompt (`ports.Prompt.prefix`), and in no source.
        texts: What was shown to the model, the question included.
        numbers: The numbers of the sources.
    """

    def __init__(self, prefix: str, texts: Sequence[str], numbers: Container[int]) -> None:
        self._prefix = prefix
        self._one, self.group = _patterns(prefix)
        self._texts = texts
        self._numbers = numbers

    def first(self, group: str, before: str) -> tuple[int, bool]:
        """Where the first part of a *group* ends, which is all marker or all text, and whether it is text.

        >>> reader = MarkerReader("S", ["The first is colours[0], in [1] and [2]."], {1, 2})
        >>> reader.first("[0] [S1]", "It is colours"), reader.first(" [S1] [1]", "It is in"), reader.first("[7]", "A")
        ((3, True), (5, False), (3, False))
        """
        end = 0
        for marker in self._one.finditer(group):
            if self.is_text(marker[0], before):
                return (end, False) if end else (marker.end(), True)
            end = marker.end()
        return end, False

    def is_text(self, marker: str, before: str) -> bool:
        """Whether a *marker* behind the text *before* is the documents' own text.

        It is if it stands there behind the same word, or stands there and no source has its number.  With the prompt's
        prefix it never is; no source has the number 0.
        """
        numbered = not _is_by_name(marker)
        if numbered and any(int(number) == 0 for number in _NUMBER.findall(marker)):
            return True
        if numbered and self._prefix and self._prefix.casefold() in marker.casefold():
            return False
        word = _LAST_WORD.search(before)
        if _squeezed((word[0] if word else "") + marker) in self._shown:
            return True
        is_unknown = numbered and not any(int(number) in self._numbers for number in _NUMBER.findall(marker))
        return is_unknown and _squeezed(marker) in self._shown

    @cached_property
    def _shown(self) -> str:
        return "\n".join(_squeezed(text) for text in self._texts if "[" in text or "(" in text)

    def spans(self, answer: str) -> list[tuple[int, int]]:
        """Code points of the markers of a whole *answer*, each run with the white space before it."""
        found, place = [], 0
        while group := self.group.search(answer, place):
            end, is_text = self.first(group[0], answer[: group.start()])
            place = group.start() + end
            if not is_text and not in_code(answer[: group.start()]):
                found.append((group.start(), place))
        return found

    def pending(self, text: str) -> int:
        """Where the end of *text* begins that may still become a marker: white space, an opening bracket.

        >>> reader = MarkerReader("", [], ())
        >>> [reader.pending(text) for text in ("It is red. [1", "It is red.", "See (the figure) now ")]
        [10, 10, 20]
        """
        tail = max(0, len(text) - MAX_MARKER_CHARS)
        for bracket in _BRACKET.finditer(text, tail):
            if self._may_become_marker(text[bracket.start() :]):
                return len(text[: bracket.start()].rstrip())
        return len(text.rstrip())

    def _may_become_marker(self, opened: str) -> bool:
        inside = opened[1:].lstrip().casefold()
        if "\n" in inside or ("]" if opened[0] == "[" else ")") in inside:
            return False
        if opened[0] == "[":
            letters = re.escape(self._prefix.casefold()[:1])
            is_number = re.fullmatch(rf"[\d\s,;{letters}]*", inside) is not None
            return is_number or _begins(inside, "file:") or _begins(inside, "missing")
        return _begins(inside, "source:")

    def resolve(self, group: str, by_name: Callable[[str, str], int | None]) -> tuple[tuple[int, ...], bool]:
        """The numbers of the sources that the markers of *group* name, and whether one of them names none.

        Args:
            group: Markers that stand together.
            by_name: The number of the source of a file name and a section, both in small letters; the section may be
                empty.

        >>> MarkerReader("", [], {1}).resolve("[1, 7]", lambda name, section: None)
        ((1,), True)
        """
        numbers: list[int] = []
        has_unknown = False
        for marker in _ANY.findall(group):
            named = _named(marker, by_name)
            numbers += [number for number in named if number in self._numbers]
            has_unknown = has_unknown or not named or any(number not in self._numbers for number in named)
        return tuple(dict.fromkeys(numbers)), has_unknown


def marks_gap(group: str) -> bool:
    """Whether one of the markers of *group* is `[missing]`.

    >>> marks_gap(" [missing]"), marks_gap("[1]")
    (True, False)
    """
    return re.search(_MISSING, group, re.IGNORECASE) is not None


def _named(marker: str, by_name: Callable[[str, str], int | None]) -> list[int]:
    by_file = _FILE.search(marker) or _SOURCE.search(marker)
    if by_file is None:
        return [int(number) for number in _NUMBER.findall(marker)]
    name, section = ((by_file.groupdict().get(part) or "").strip("`'\" ").casefold() for part in ("name", "section"))
    number = by_name(name, section)
    return [] if number is None else [number]


def in_code(text: str) -> bool:
    """Whether a bracket at the end of *text* stands in code, where it is no marker."""
    if "`" not in text:
        return False
    return text.count("```") % 2 == 1 or text.rpartition("\n")[2].replace("```", "").count("`") % 2 == 1


def _squeezed(text: str) -> str:
    return _MARKS.sub("", text).casefold()


def _is_by_name(marker: str) -> bool:
    return marker[1:].lstrip()[:5].casefold().startswith(("file", "sourc"))


def _begins(inside: str, word: str) -> bool:
    return word.startswith(inside) or inside.startswith(word)
