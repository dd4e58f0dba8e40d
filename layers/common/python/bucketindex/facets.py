"""Filters and what they ask for: each value that a document can be filtered by is one word, a facet."""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate

from bucketindex.lexical import FacetFilter
from ragdrop.domain.chunks import Filters, Folder
from ragdrop.domain.documents import Facts

_SURROGATE = re.compile("[\ud800-\udfff]")
DATE = "date"
_LENGTH_OF_A_DAY = len("2026-01-31")
Ranges = list[tuple[int, int]]
"""Documents by number: first of each run and the one behind its last, in order."""


def facet(kind: str, *values: str) -> str:
    r"""The facet of a value.

    >>> facet("tag", "red")
    'tag\x1fred'
    """
    text = "\x1f".join((kind, *values))
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def revision_facet(vault: str, path: str, revision: int) -> str:
    """The facet of one revision, by which it can be left out."""
    return facet("revision", vault, path, str(revision))


def facets_of(vault: str, path: str, facts: Facts) -> list[str]:
    r"""What a document can be filtered by, but for its revision.

    >>> [each.split("\x1f") for each in facets_of("team", "a/b.md", Facts("t", "v", ""))][:3]
    [['vault', 'team'], ['folder', 'team', 'a'], ['folder', 'team', 'a/b.md']]
    """
    found = [facet("vault", vault)]
    at = path.find("/")
    while at >= 0:
        found.append(facet("folder", vault, path[:at]))
        at = path.find("/", at + 1)
    found.append(facet("folder", vault, path))
    found.append(facet("content_type", facts.content_type))
    found.append(facet("promotion_level", facts.promotion_level))
    optional = (("doc_type", facts.doc_type), ("category", facts.category), ("session_id", facts.session_id))
    found += [facet(kind, value) for kind, value in (*optional, (DATE, facts.date)) if value is not None]
    found += [facet("tag", tag) for tag in dict.fromkeys(facts.tags)]
    return found + [_attribute(name, value) for name, value in facts.attributes.items()]


def groups_of(filters: Filters, vaults: Iterable[str], dates: Iterable[str]) -> list[tuple[str, ...]]:
    """What documents must have: one facet of each group.

    Args:
        filters: Of a query.
        vaults: All that the view holds: a folder of no vault is one in each.
        dates: All dates that it holds.
    """
    fields = (
        ("vault", filters.vaults),
        ("doc_type", filters.doc_types),
        ("content_type", filters.content_types),
        ("category", filters.categories),
        ("session_id", filters.session_ids),
        ("promotion_level", filters.promotion_levels),
        ("tag", filters.tags),
    )
    groups = [tuple(facet(kind, value) for value in wanted) for kind, wanted in fields if wanted]
    groups += [(_attribute(name, value),) for name, value in filters.attributes.items()]
    if filters.folders and not any(not folder.path and folder.vault is None for folder in filters.folders):
        groups.append(tuple(each for folder in filters.folders for each in _folder(folder, vaults)))
    if filters.date_from is not None or filters.date_to is not None:
        groups.append(tuple(facet(DATE, date) for date in dates if _within(date, filters)))
    return groups


def _attribute(name: str, value: str) -> str:
    return facet("attribute", json.dumps([name, value]))  # as JSON, so that no pair can be mistaken for another


def _folder(folder: Folder, vaults: Iterable[str]) -> Iterator[str]:
    for vault in vaults if folder.vault is None else (folder.vault,):
        yield facet("folder", vault, folder.path) if folder.path else facet("vault", vault)


def _within(date: str, filters: Filters) -> bool:
    first, last = filters.date_from, filters.date_to
    if first is not None and date < first:
        return False
    if last is None:
        return True
    return (date[:_LENGTH_OF_A_DAY] if len(last) == _LENGTH_OF_A_DAY else date) <= last


def admitted(facets: Mapping[str, Sequence[int]], wanted: FacetFilter, documents: int) -> Ranges:
    """The documents of a segment that have one facet of each group.

    Args:
        facets: The segment's: first document and the one behind the last, of each run, one after another.
        wanted: `without` does not count here.
        documents: How many the segment has.

    >>> admitted({"a": [0, 2, 5, 6], "b": [1, 9], "c": [8, 9]}, FacetFilter((("a", "c"), ("b",))), 9)
    [(1, 2), (5, 6), (8, 9)]
    """
    found: Ranges = [(0, documents)] if documents else []
    for group in wanted.groups:
        runs = [run for name in group for run in _runs(facets.get(name, ()))]
        found = _both(found, _united(sorted(runs)))
    return found


def split(ranges: Ranges, gone: Iterable[int]) -> Ranges:
    """*ranges* without the numbers that are *gone*.

    >>> split([(0, 4), (6, 9)], [2, 5, 6])
    [(0, 2), (3, 4), (7, 9)]
    """
    numbers = sorted(gone)
    found: Ranges = []
    for first, behind in ranges:
        start = first
        for number in numbers[bisect_left(numbers, first) : bisect_left(numbers, behind)]:
            if start < number:
                found.append((start, number))
            start = number + 1
        if start < behind:
            found.append((start, behind))
    return found


def numbering(ranges: Ranges) -> Callable[[int], int]:
    """Gives the number at each place where *ranges* stand one after another.

    >>> [numbering([(3, 5), (7, 9)])(place) for place in range(4)]
    [3, 4, 7, 8]
    """
    behind = list(accumulate(last - first for first, last in ranges))

    def number(place: int) -> int:
        at = bisect_right(behind, place)
        return ranges[at][1] - behind[at] + place

    return number


def _runs(flat: Sequence[int]) -> Iterator[tuple[int, int]]:
    return zip(flat[::2], flat[1::2], strict=True)


def _united(runs: Iterable[tuple[int, int]]) -> Ranges:
    found: Ranges = []
    for first, behind in runs:
        if found and first <= found[-1][1]:
            found[-1] = (found[-1][0], max(behind, found[-1][1]))
        else:
            found.append((first, behind))
    return found


def _both(one: Ranges, other: Ranges) -> Ranges:
    found: Ranges = []
    at, place = 0, 0
    while at < len(one) and place < len(other):
        first, behind = max(one[at][0], other[place][0]), min(one[at][1], other[place][1])
        if first < behind:
            found.append((first, behind))
        if one[at][1] < other[place][1]:
            at += 1
        else:
            place += 1
    return found
