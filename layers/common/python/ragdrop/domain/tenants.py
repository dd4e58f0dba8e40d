"""Tenants, callers, and the active index of a tenant."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from ragdrop.domain.calibration import Calibration
from ragdrop.domain.models import EmbeddingSpace
from ragdrop.errors import InvalidParamsError

Role = Literal["reader", "writer", "admin"]
ROLES: tuple[Role, ...] = ("reader", "writer", "admin")
KeyState = Literal["active", "expired", "revoked"]
MAX_WRITER = 64  # characters: S3 keeps 2 KB of metadata with an object
KEY_ID_DIGITS = 12
Engine = Literal["bucket", "opensearch"]
_PREFIXES: dict[Engine, str] = {"bucket": "bucket", "opensearch": "ragdrop"}
WINDOW_S = 60  # of requests that are counted together
MAX_PER_MINUTE = 1_000_000
MAX_PER_DAY = 1_000_000_000_000
SCHEMA_VERSION = 1  # raised when the index's fields change: old and new then have different names


@dataclass(frozen=True, slots=True)
class ChunkingPlan:
    """Sizes of chunks in tokens of the embedding model; code has its own.

    `window_tokens` is what the model reads of a passage; 0 where nobody noted it: then `max_tokens` is the most.
    """

    max_tokens: int = 512
    overlap_tokens: int = 50
    code_max_tokens: int = 256
    code_overlap_tokens: int = 25
    window_tokens: int = field(default=0, compare=False)

    @classmethod
    def fitting(cls, window_tokens: int, *, tokens: int | None = None, overlap: int | None = None) -> ChunkingPlan:
        """The plan for a model that reads *window_tokens*: 512 tokens and 256 of code, or *tokens* of both.

        Chunks overlap by a tenth, at most 50, or by *overlap*, at most half a chunk.

        >>> ChunkingPlan.fitting(240) == ChunkingPlan(240, 24, 240, 24)
        True
        >>> ChunkingPlan.fitting(8_000, tokens=100, overlap=90).sizes_for("chat")
        'text 100/50'
        """
        size, code = min(tokens or 512, window_tokens), min(tokens or 256, window_tokens)
        return cls(size, _overlap(size, overlap), code, _overlap(code, overlap), window_tokens)

    def with_sizes(self, tokens: int | None, overlap: int | None) -> ChunkingPlan:
        """This plan with other sizes where they are given, never over the model's window.

        >>> ChunkingPlan(240, 24, 240, 24, window_tokens=240).with_sizes(100, None).sizes_for("chat")
        'text 100/10'
        """
        if tokens is None and overlap is None:
            return self
        limit = self.window_tokens or self.max_tokens
        if tokens is not None:
            return ChunkingPlan.fitting(limit, tokens=tokens, overlap=overlap)
        sizes = self.max_tokens, self.code_max_tokens
        return ChunkingPlan(sizes[0], _overlap(sizes[0], overlap), sizes[1], _overlap(sizes[1], overlap), limit)

    def sizes_for(self, content_type: str) -> str:
        """What text of *content_type* is cut by, as it is noted with its chunks.

        >>> ChunkingPlan().sizes_for("code"), ChunkingPlan().sizes_for("chat")
        ('code 256/25', 'text 512/50')
        """
        if content_type == "code":
            return f"code {self.code_max_tokens}/{self.code_overlap_tokens}"
        return f"text {self.max_tokens}/{self.overlap_tokens}"

    def made(self, sizes: str) -> bool:
        """Whether chunks noted with *sizes* are as this plan makes them.

        >>> ChunkingPlan().made("code 256/25"), ChunkingPlan(240, 24).made("text 512/50")
        (True, False)
        """
        return sizes == self.sizes_for(sizes.partition(" ")[0])


def _overlap(size: int, wanted: int | None) -> int:
    return min(size // 10, 50) if wanted is None else min(wanted, size // 2)


@dataclass(frozen=True, slots=True)
class StoredSettings:
    """What the last valid settings file of a tenant or a vault says; no values after it was deleted.

    `revision` is the one of the file's head that wrote it: an older one never replaces a newer one.
    """

    values: Mapping[str, Any]
    revision: int
    version_id: str | None = None


@dataclass(frozen=True, slots=True)
class ActiveIndex:
    """The index that answers for a tenant: its concrete name and how its vectors and chunks were made.

    `routes` is the number of routing values a tenant is spread over (docs/opensearch.md), 1 to 64.  `titled` says that
    chunks are embedded with title and headings; indexes of older versions are not.
    """

    name: str
    space: EmbeddingSpace
    chunking: ChunkingPlan
    routes: int = 1
    titled: bool = False

    @property
    def engine(self) -> Engine:
        """Which kind of index it is."""
        return engine_of(self.name)

    @property
    def make(self) -> tuple[EmbeddingSpace, ChunkingPlan, bool, Engine]:
        """What two indexes of one kind with the same vectors of the same chunks have in common, but for their names."""
        return self.space, self.chunking, self.titled, self.engine


@dataclass(frozen=True, slots=True)
class IndexRef:
    """One tenant's part of one concrete index: what every call to a ChunkIndex names."""

    tenant: str
    name: str
    dimension: int
    routes: int = 1


@dataclass(frozen=True, slots=True)
class RateLimits:
    """What a tenant may use; None is no limit.

    `per_minute` bounds the requests of all its credentials together, `key_per_minute` those of each one alone;
    `daily_tokens` the tokens of chat models and `daily_documents` the documents written over HTTP, of a day in UTC.
    """

    per_minute: int | None = None
    key_per_minute: int | None = None
    daily_tokens: int | None = None
    daily_documents: int | None = None

    def checked(self) -> RateLimits:
        """These limits, if they may be set.

        Raises:
            InvalidParamsError: A limit is not in 1 to 1,000,000, of a day not in 1 to 10^12.

        >>> RateLimits(600, 60).checked().any
        True
        """
        for name, value in asdict(self).items():
            most = MAX_PER_DAY if name.startswith("daily_") else MAX_PER_MINUTE
            if value is not None and not 1 <= value <= most:
                allowed = f"1 to {most}"
                raise InvalidParamsError(
                    f"{name} {value} is not in {allowed}", field=name, value=value, allowed=allowed
                )
        return self

    @property
    def any(self) -> bool:
        """Whether there is a limit at all."""
        return self != NO_RATES

    @property
    def of_a_minute(self) -> bool:
        """Whether there is a limit of requests: without one they are not counted."""
        return self.per_minute is not None or self.key_per_minute is not None


NO_RATES = RateLimits()


@dataclass(frozen=True, slots=True)
class Tenant:
    """The registry's item of a tenant.

    `documents` and `chunks` are counters of what is live; `generation` rises with every batch that changed something.
    While a reindex runs, `building` is the index to come; after the switch `previous` is the one that answered before,
    until it is dropped.  `moves` counts these changes: each is a write conditional on it.  `calibration` is the last
    fit, of whatever embedding space: `shipped_calibrations.in_force` says what holds.  `settings` holds what the
    settings files say, by vault; the tenant's own by an empty name.  `doc_types` are `vault/doc_type` of all
    documents that were ever live.  `rates` bounds its requests.  `counted` has the live documents
    and chunks of each vault.  `promoted` has the stages that count for every search
    until all that waits in them is live, `vault/stage`, with seconds since 1970.
    """

    name: str
    active: ActiveIndex
    enabled: bool = True
    documents: int = 0
    chunks: int = 0
    generation: int = 0
    vaults: tuple[str, ...] = ()
    doc_types: tuple[str, ...] = ()
    created_at: str = ""
    building: ActiveIndex | None = None
    previous: ActiveIndex | None = None
    moves: int = 0
    calibration: Calibration | None = None
    settings: Mapping[str, StoredSettings] = field(default_factory=dict)
    rates: RateLimits = NO_RATES
    promoted: Mapping[str, float] = field(default_factory=dict)
    counted: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def count_in(self, vaults: Collection[str]) -> tuple[int | None, int | None]:
        """Live documents and chunks in *vaults*, in all where it is empty; None while a vault's are not known.

        >>> tenant = Tenant("acme", None, documents=3, chunks=9, counted={"team": (1, 4), "hr": (2, 5)})
        >>> tenant.count_in(["team"]), tenant.count_in([]), tenant.count_in(["none"])
        ((1, 4), (3, 9), (0, 0))
        """
        if not vaults:
            return self.documents, self.chunks
        if sum(documents for documents, _ in self.counted.values()) != self.documents:
            return None, None  # documents that an older version counted
        found = [self.counted.get(vault, (0, 0)) for vault in vaults]
        return sum(documents for documents, _ in found), sum(chunks for _, chunks in found)

    def settings_of(self, vault: str | None) -> Mapping[str, Any]:
        """What the settings file of *vault*, or of the tenant where it is None, says; empty where there is none."""
        kept = self.settings.get(vault or "")
        return {} if kept is None else kept.values

    def doc_types_in(self, vaults: Collection[str]) -> list[str]:
        """The doc_types that a query to *vaults* may name: those of their documents, and those that settings list.

        >>> Tenant("acme", None, doc_types=("hr/contract", "team/a/b")).doc_types_in(["team"])
        ['a/b']
        """
        stored = (name.partition("/") for name in self.doc_types)
        listed = [self.settings_of(vault).get("doc_types") or () for vault in (None, *vaults)]
        return sorted({kind for vault, _, kind in stored if vault in vaults}.union(*listed))

    @property
    def settings_revision(self) -> str:
        """Changes whenever a settings file of the tenant or of a vault does.

        >>> Tenant("acme", None, settings={"team": StoredSettings({}, 7)}).settings_revision
        'team:7'
        """
        return ",".join(f"{name}:{kept.revision}" for name, kept in sorted(self.settings.items()))

    @property
    def index(self) -> IndexRef:
        """The tenant's part of its active index."""
        return self.part_of(self.active)

    @property
    def targets(self) -> tuple[ActiveIndex, ...]:
        """The indexes that every revision is written to: from a reindex's start until the old one is dropped, both."""
        return tuple(index for index in (self.active, self.building, self.previous) if index is not None)

    def part_of(self, index: ActiveIndex) -> IndexRef:
        """The tenant's part of *index*."""
        return IndexRef(self.name, index.name, index.space.dimension, index.routes)


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key as the registry keeps it: by the SHA-256 of its secret, never the secret.

    `lifetime_s` is how long it was made for, None for ever; `label` says what it is for.
    """

    sha256: str
    tenant: str
    role: Role
    vaults: tuple[str, ...] = ()
    expires_at_s: float | None = None
    revoked: bool = False
    created_at: str = ""
    lifetime_s: int | None = None
    label: str = ""

    @property
    def id(self) -> str:
        """What operators call it: the first twelve digits of its hash, which open nothing."""
        return self.sha256[:KEY_ID_DIGITS]

    def state(self, now_s: float) -> KeyState:
        """Whether it opens anything at *now_s* (seconds since 1970).

        >>> ApiKey("99f3", "acme", "reader", expires_at_s=60).state(60)
        'expired'
        """
        if self.revoked:
            return "revoked"
        return "active" if self.expires_at_s is None or now_s < self.expires_at_s else "expired"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: the tenant and rights that the credential gives.  An empty `vaults` means all.

    `credential` tells credentials of a tenant apart, for counting; it is no secret.  `label` says what it is for.
    """

    tenant: str
    role: Role
    vaults: tuple[str, ...] = field(default=())
    credential: str = field(default="", compare=False)
    label: str = field(default="", compare=False)

    @property
    def writer(self) -> str:
        """What the record of the past calls whoever writes: the credential's label, or the credential, in plain ASCII.

        >>> Caller("acme", "writer", credential="99f3", label="nightly sync").writer
        'nightly sync'
        """
        name = self.label.strip() if self.label.isascii() and self.label.isprintable() else ""
        return (name or self.credential).encode("ascii", "replace").decode()[:MAX_WRITER]

    def may_see(self, vault: str) -> bool:
        """Whether the credential's scope holds *vault*.

        >>> Caller("acme", "reader", ("team",)).may_see("hr")
        False
        """
        return not self.vaults or vault in self.vaults


def key_hash(secret: str) -> str:
    """SHA-256 of a key's secret in hex: what is stored and looked up.

    >>> key_hash("rd_example")[:8]
    '99f3eaf7'
    """
    return hashlib.sha256(secret.encode()).hexdigest()


def index_name(space: EmbeddingSpace, engine: Engine, *, build: int = 1) -> str:
    """The concrete name of an index for *space*; *build* tells two of the same space apart (a reindex makes the next).

    >>> index_name(EmbeddingSpace("nomic-ai/Nomic Embed", 768), "opensearch")
    'ragdrop-v1-nomic-ai-nomic-embed-768-1'
    """
    slug = re.sub(r"[^a-z0-9]+", "-", space.model.lower()).strip("-")[:80]
    return f"{_PREFIXES[engine]}-v{SCHEMA_VERSION}-{slug}-{space.dimension}-{build}"


def engine_of(name: str) -> Engine:
    """Which kind of index a name is of.

    >>> engine_of("bucket-v1-nomic-768-1"), engine_of("ragdrop-v1-nomic-768-1")
    ('bucket', 'opensearch')
    """
    return "bucket" if name.startswith(f"{_PREFIXES['bucket']}-") else "opensearch"
