"""Values of a document: its facts, its head in the registry, the detail of a revision, and pointers to it."""

import datetime
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Literal

from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.languages import UNSPACED

PromotionLevel = Literal["standard", "important", "critical"]
ContentType = Literal["chat", "decision", "code", "documentation"]
PROMOTION_LEVELS: tuple[PromotionLevel, ...] = ("standard", "important", "critical")
EVERYONE = "*"  # in a list of groups: everybody who may see the vault
ALIASES = "aliases"  # the attribute with a document's other names
CONTENT_TYPES: tuple[ContentType, ...] = ("chat", "decision", "code", "documentation")


def in_lower_case(value: object) -> object:
    """A word in lower case without blanks around it, anything else as it is: fixed words match whatever their case.

    >>> in_lower_case(" Critical"), in_lower_case(3)
    ('critical', 3)
    """
    return value.strip().lower() if isinstance(value, str) else value


def written(value: object) -> str:
    """A plain value as JSON writes it: what attributes hold and filters ask for.

    >>> written("NO"), written(True), written(3)
    ('NO', 'true', '3')
    """
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return str(value).lower() if isinstance(value, bool) else str(value)


class Status(StrEnum):
    """Where a document stands."""

    PENDING = "pending"
    STAGED = "staged"
    INDEXED = "indexed"
    FAILED = "failed"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class Facts:
    """What a revision says of itself: shown with every hit and filtered on.

    `date` is ISO 8601 (a day or a time); `char_count` counts code points of the parsed text; `indexed_at` is RFC 3339.
    `access` are the groups that it lets read it, None where it does not say; no answer shows it.
    """

    title: str
    version_id: str
    indexed_at: str
    summary: str | None = None
    doc_type: str | None = None
    content_type: ContentType = "documentation"
    promotion_level: PromotionLevel = "standard"
    date: str | None = None
    tags: tuple[str, ...] = ()
    category: str | None = None
    session_id: str | None = None
    agent: str | None = None
    attributes: dict[str, str] = field(default_factory=dict)
    char_count: int = 0
    access: tuple[str, ...] | None = None

    @property
    def names(self) -> str:
        """What readers call the document: its title, and the other names that front matter states as `aliases`.

        >>> Facts("Annual leave", "v1", "2024-05-01T00:00:00Z", attributes={"aliases": "PTO, time off"}).names
        'Annual leave (PTO, time off)'
        """
        aliases = self.attributes.get(ALIASES)
        return f"{self.title} ({aliases})" if aliases else self.title


NamePlace = Literal["title", "path", "tag"]
"""Where the name of a document has what was typed."""
_BETWEEN = "\x1f"
_NAME_WORD = re.compile(r"[^\W_]+")
_NAME_PLACES: tuple[tuple[float, NamePlace], ...] = ((4.0, "title"), (3.0, "path"), (2.0, "tag"), (1.0, "path"))


def typed_words(text: str) -> tuple[str, ...]:
    """The words of what somebody types, in one case and without accents, each once.

    >>> typed_words("Pümp QX-55")
    ('pump', 'qx', '55')
    """
    return tuple(dict.fromkeys(_NAME_WORD.findall(_without_accents(text))))


def name_line(path: str, facts: Facts) -> str:
    """Title, file name, tags and folders of a document in one line, as `name_match` reads it."""
    folders, _, name = path.rpartition("/")
    parts = (facts.names, name, " ".join(facts.tags), folders)
    return _BETWEEN.join(_without_accents(" ".join(part.split())) for part in parts)


def name_match(words: Sequence[str], line: str) -> tuple[float, NamePlace] | None:
    """How well *words*, each the beginning of a word, name the document of *line*, from 0 to 5, and by what.

    >>> pump = name_line("machines/qx/p1.md", Facts("The pump", "v1", "", tags=("red",)))
    >>> [name_match(words, pump) for words in (("pump",), ("the", "pump"), ("mach",), ("red",), ("ump",))]
    [(4.25, 'title'), (4.94, 'title'), (1.68, 'path'), (3.0, 'tag'), None]
    >>> name_match(("pump", "qx"), pump)
    (0.5, 'title')
    """
    parts = line.split(_BETWEEN)
    for (score, place), part in zip(_NAME_PLACES, parts, strict=True):
        if all(begins_word(word).search(part) for word in words):
            share = min(1.0, sum(map(len, words)) / len(part))
            return round(score + 0.5 * part.startswith(words[0]) + 0.5 * share, 2), place
    if not all(begins_word(word).search(line) for word in words):
        return None
    return 0.5, "title" if any(begins_word(word).search(parts[0]) for word in words) else "path"


@lru_cache(maxsize=256)
def begins_word(word: str) -> re.Pattern[str]:
    """Find a *word* of `typed_words` where a word of a `name_line` begins; that the literal stands first is quick."""
    found = re.escape(word)
    return re.compile(found if UNSPACED.match(word) else rf"{found}(?<![^\W_]{found})")


def _without_accents(text: str) -> str:
    if text.isascii():
        return text.lower()
    apart = unicodedata.normalize("NFKD", text.casefold())
    return "".join(each for each in apart if not unicodedata.combining(each))


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a document is not indexed.  `at` is RFC 3339 UTC, `attempts` counts from 1."""

    code: str
    message: str
    attempts: int
    at: str


@dataclass(frozen=True, slots=True)
class Head:
    """The registry's truth about one key: only `live_revision` answers.

    `revision` is the last one claimed; `version_id` the S3 version that claim is for; `lease_until_s` is seconds since
    1970; `etag` and `sidecar_etag` are S3's of the versions claimed.  `title`, `doc_type`, `promotion_level` and
    `chunk_count` describe the live revision; `access` what the last live one stated, and stays after a deletion, for
    the record of the past.  `stage` is the stage that `revision` waits in, or is being made for.
    `tag` is who may read `version_id` by its tags (`domain.access.tag_of`), `live_tag` the same of `live_version_id`;
    None where nobody looked.
    """

    key: DocumentKey
    status: Status
    revision: int
    live_revision: int | None = None
    version_id: str | None = None
    sidecar_version_id: str | None = None
    live_version_id: str | None = None
    live_sidecar_version_id: str | None = None
    message_id: str | None = None
    lease_until_s: float = 0.0
    sequencer: str | None = None
    title: str | None = None
    doc_type: str | None = None
    promotion_level: PromotionLevel = "standard"
    chunk_count: int = 0
    error: Failure | None = None
    created_at: str = ""
    updated_at: str = ""
    etag: str | None = None
    sidecar_etag: str | None = None
    stage: str | None = None
    access: tuple[str, ...] | None = None
    tag: str | None = None
    live_tag: str | None = None

    @property
    def tags(self) -> tuple[str, ...]:
        """What narrows who may read it: the tags of the live version, and those of the claimed one.

        A version in a stage says nothing of what is live.

        >>> key = DocumentKey("acme", "team", "a.md")
        >>> [Head(key, Status.PENDING, 8, 7, live_tag="", tag="hr", stage=stage).tags for stage in (None, "spring")]
        [('hr',), ()]
        """
        if not self.tag and not self.live_tag:
            return ()
        claimed = self.tag if self.stage is None or self.live_revision is None else None
        return tuple(sorted({tag for tag in (self.live_tag, claimed) if tag}))


@dataclass(frozen=True, slots=True)
class Detail:
    """What the registry keeps of one indexed revision.

    `content_hash` is SHA-256 of the object's bytes in hex; `written_by` is who wrote it, None if nobody knows;
    `stage` is the stage that it was made for; `embedded` counts chunks whose vectors were computed for it.
    """

    key: DocumentKey
    revision: int
    facts: Facts
    chunk_count: int
    content_hash: str
    size_bytes: int
    etag: str
    media_type: str
    content_type_basis: str
    links: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    written_by: str | None = None
    stage: str | None = None
    embedded: int = 0


@dataclass(frozen=True, slots=True)
class Heads:
    """The heads of many documents at one moment.  `unread` could not be read: their documents must not answer."""

    found: dict[DocumentKey, Head]
    unread: frozenset[DocumentKey] = frozenset()


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a listing, ordered by vault and path; `cursor` asks for the next one, None ends."""

    heads: list[Head]
    cursor: str | None


MAX_DELETED, MAX_DELETED_SHARE = 20, 0.2


def is_mass_delete(count: int, total: int) -> bool:
    """Whether one command would delete too much of a vault of *total* documents, likely by mistake.

    >>> is_mass_delete(21, 100), is_mass_delete(20, 20), is_mass_delete(21, 200)
    (True, False, False)
    """
    return count > MAX_DELETED and count > MAX_DELETED_SHARE * total


@dataclass(frozen=True, slots=True)
class DetailFilters:
    """Exact values, all of which must fit; None and an empty mapping ask for nothing.

    `outdated` asks for documents whose chunks were cut by other sizes than those in force; `unused_since`
    (RFC 3339 UTC) for those indexed before, that no answer had since; `broken_links` for those with a link that
    leads to no document; `links_to` for those with a link that leads to this one.
    """

    content_type: ContentType | None = None
    category: str | None = None
    tag: str | None = None
    session_id: str | None = None
    attributes: Mapping[str, str] = field(default_factory=dict)
    outdated: bool = False
    unused_since: str | None = None
    broken_links: bool = False
    links_to: DocumentKey | None = None

    def __bool__(self) -> bool:
        """Whether anything is asked for."""
        return self != DetailFilters()

    def admit(self, facts: Facts) -> bool:
        """Whether a live revision with these facts is listed.

        >>> facts = Facts("Pump", "v1", "2024-05-01T00:00:00Z", tags=("water",), attributes={"game": "go"})
        >>> DetailFilters(tag="water").admit(facts), DetailFilters(attributes={"game": "chess"}).admit(facts)
        (True, False)
        """
        pairs = (
            (self.content_type, facts.content_type),
            (self.category, facts.category),
            (self.session_id, facts.session_id),
        )
        if self.unused_since is not None and facts.indexed_at >= self.unused_since:
            return False  # too young to be called unused
        return (
            all(required is None or required == value for required, value in pairs)
            and (self.tag is None or self.tag in facts.tags)
            and all(facts.attributes.get(name) == value for name, value in self.attributes.items())
        )


_SUFFIX = re.compile(r"(?<=.)\.[A-Za-z][A-Za-z0-9]{0,9}$")  # so that "v1.2" has none
MAX_PATHS_OF_A_NAME = 20  # an item that every README.md of a large vault joins must stay small


# Pointers to promoted documents and to documents by name are hints: readers check the heads.


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


def searched_revisions(head: Head) -> tuple[int, ...]:
    """The revisions whose chunks an index must have: the live one, and one that waits in a stage.

    >>> key = DocumentKey("acme", "team", "a.md")
    >>> [searched_revisions(Head(key, status, 7, live_revision=6)) for status in (Status.STAGED, Status.PENDING)]
    [(6, 7), (6,)]
    """
    found = (head.live_revision, head.revision if head.status is Status.STAGED else None)
    return tuple(revision for revision in found if revision is not None)


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
