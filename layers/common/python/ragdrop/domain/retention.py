"""How long what is derived of a revision is kept: while it may answer, and 30 days after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragdrop.domain.documents import Head, Status
from ragdrop.domain.sweeping import seconds_of

DERIVED_AGE_S = 30 * 86_400


@dataclass(frozen=True, slots=True)
class KeptRevision:
    """What the state bucket keeps of one revision; `written_at_s` is of its youngest object, in seconds since 1970.

    `whole` says that its chunks are there: only then it can ever have answered.
    """

    revision: int
    written_at_s: float
    whole: bool
    objects: int = 0


def expired(kept: Sequence[KeptRevision], head: Head | None, *, now_s: float, age_s: float) -> list[KeptRevision]:
    """The revisions of one document that stopped answering at least *age_s* seconds ago.

    The live and the pending one never are.  One that was replaced stopped when the next whole one was written, the last
    one when the head says that the document was deleted or withdrawn; without a head it is by its own age.

    >>> old, new = KeptRevision(1, 0.0, True), KeptRevision(2, 500.0, True)
    >>> [each.revision for each in expired([old, new], None, now_s=1_000.0, age_s=600.0)]
    []
    """
    found = []
    for each in kept:
        if head is not None and each.revision == head.live_revision:
            continue
        if head is not None and each.revision == head.revision and head.status is Status.PENDING:
            continue
        later = [other.written_at_s for other in kept if other.whole and other.revision > each.revision]
        replaced = later and (head is None or head.live_revision is None or each.revision < head.live_revision)
        changed_at_s = seconds_of(head.updated_at) if head is not None else 0.0
        stopped_at_s = min(later) if replaced else max(each.written_at_s, changed_at_s)
        if now_s - max(stopped_at_s, each.written_at_s) >= age_s:
            found.append(each)
    return found
