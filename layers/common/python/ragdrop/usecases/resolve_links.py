"""Resolve links: which live document each link of a level leads to, by at most two batch reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Heads
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.linked import MAX_LOOKUPS, Target, as_written, keys_to_read, meanings, names_of
from ragdrop.ports import Registry

Live = tuple[DocumentKey, int]
"""A document and its live revision."""


def resolve(
    registry: Registry, targets: Sequence[Target], deadline: Deadline, *, known: Mapping[DocumentKey, int] | None = None
) -> list[Live | None]:
    """Where each of *targets* leads, None where to nothing live.

    The documents that links name as they are written, and the names of all links, are read in one batch: for paths that
    exist that is enough.  What else the names may mean is read by a second one.  Links to *known* documents, of which
    the live revision was read already, cost nothing.

    Raises:
        DatabaseError: The registry did not answer.
    """
    live = dict(known or {})
    left = [target for target in targets if as_written(target) not in live]
    names = names_of(left)
    written = [key for key in dict.fromkeys(map(as_written, left)) if key is not None]
    if len(names) + len(written) > MAX_LOOKUPS:  # of so many links names come first: they tell which paths there are
        written = []
    named, heads = registry.named_and_heads(names, written, deadline) if names or written else ({}, Heads({}))
    live |= _live(heads)
    left = [target for target in left if as_written(target) not in live]
    meant = dict(zip(left, meanings(left, named), strict=True))
    gone = {*written} - {*live} - heads.unread
    unread = [
        [key for key in takewhile(lambda key: key not in live, keys) if key not in gone] for keys in meant.values()
    ]
    keys = keys_to_read(unread)
    if keys:
        live |= _live(registry.heads(keys, deadline))
    found = [next((key for key in (as_written(each), *meant.get(each, ())) if key in live), None) for each in targets]
    return [None if key is None else (key, live[key]) for key in found]


def _live(heads: Heads) -> dict[DocumentKey, int]:
    return {key: head.live_revision for key, head in heads.found.items() if head.live_revision is not None}
