"""Pointers to promoted documents and to documents by name. Hints only: readers check the heads."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from ragdrop.domain.documents import Head, PromotionLevel, Status
from ragdrop.domain.keys import DocumentKey

_SUFFIX = re.compile(r"(?<=.)\.[A-Za-z][A-Za-z0-9]{0,9}$")  # so that "v1.2" has none
MAX_PATHS_OF_A_NAME = 20  # an item that every README.md of a large vault joins must stay small


@dataclass(frozen=True, order=True, slots=True)
class Promoted:
    """A document that is, or was, or is about to be, important or critical: its head says which."""

    key: DocumentKey
    level: PromotionLevel


@dataclass(frozen=True, order=True, slots=True)
class Name:
    """What a wikilink calls a document by: within a vault, the name of its file without suffix, folded."""

    tenant: str
    vault: str
    name: str


def folded_name(path: str) -> str:
    """The name of a file without folder and suffix, its case folded, composed as NFC.

    >>> folded_name("notes/Pump Guide.md"), folded_name(".hidden"), folded_name("v1.2")
    ('pump guide', '.hidden', 'v1.2')
    """
    file = path.rsplit("/", 1)[-1]
    return unicodedata.normalize("NFC", _SUFFIX.sub("", file)).casefold()


def name_of(key: DocumentKey) -> Name:
    """The name under which a document is noted."""
    return Name(key.tenant, key.vault, folded_name(key.path))


def nothing_answers_until(head: Head) -> int:
    """Pointers of revisions up to this one lead nowhere, as no such revision answers or ever will; 0 where one may.

    A pointer carries the revision that wrote it, so a revision claimed after *head* was read keeps its own.

    >>> key = DocumentKey("acme", "team", "a.md")
    >>> nothing_answers_until(Head(key, Status.DELETED, 7)), nothing_answers_until(Head(key, Status.PENDING, 7))
    (7, 0)
    """
    gone = head.live_revision is None and head.status not in {Status.PENDING, Status.STAGED}
    return head.revision if gone else 0


def nothing_is_promoted_until(head: Head) -> int:
    """The same for the list of promoted documents, from which a standard document goes too.

    >>> key = DocumentKey("acme", "team", "a.md")
    >>> nothing_is_promoted_until(Head(key, Status.PENDING, 7, live_revision=6))
    6
    """
    if head.live_revision is None or head.promotion_level != "standard":
        return nothing_answers_until(head)
    return head.live_revision if head.status in {Status.PENDING, Status.STAGED} else head.revision
