"""Tenants, callers, and the active index of a tenant."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from ragdrop.domain.models import Calibration, EmbeddingSpace, for_space
from ragdrop.errors import InvalidParamsError

Role = Literal["reader", "writer", "admin", "delegate"]
ROLES: tuple[Role, ...] = ("reader", "writer", "admin", "delegate")
RIGHTS: tuple[Role, ...] = ("reader", "writer", "admin")  # what routes need, the least first
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

    `window_tokens` is what the model reads of a passage; 0 if it is unknown: then `max_tokens` is the limit.
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
        """This plan with the sizes that are given, never over the model's window."""
        if tokens is None and overlap is None:
            return self
        limit = self.window_tokens or self.max_tokens
        if tokens is not None:
            return ChunkingPlan.fitting(limit, tokens=tokens, overlap=overlap)
        sizes = self.max_tokens, self.code_max_tokens
        return ChunkingPlan(sizes[0], _overlap(sizes[0], overlap), sizes[1], _overlap(sizes[1], overlap), limit)

    def sizes_for(self, content_type: str) -> str:
        """The sizes for text of *content_type*, as they are stored with its chunks.

        >>> ChunkingPlan().sizes_for("code"), ChunkingPlan().sizes_for("chat")
        ('code 256/25', 'text 512/50')
        """
        if content_type == "code":
            return f"code {self.code_max_tokens}/{self.code_overlap_tokens}"
        return f"text {self.max_tokens}/{self.overlap_tokens}"

    def made(self, sizes: str) -> bool:
        """Whether chunks with the stored *sizes* are as this plan makes them."""
        return sizes == self.sizes_for(sizes.partition(" ")[0])


def _overlap(size: int, requested: int | None) -> int:
    return min(size // 10, 50) if requested is None else min(requested, size // 2)


@dataclass(frozen=True, slots=True)
class StoredSettings:
    """The values of the last valid settings file of a tenant or a vault; none after it was deleted.

    `revision` is that of the file's head: an older one never replaces a newer one.
    """

    values: Mapping[str, Any]
    revision: int
    version_id: str | None = None


@dataclass(frozen=True, slots=True)
class ActiveIndex:
    """The index that answers for a tenant: its concrete name and how its vectors and chunks were made.

    A tenant is spread over `routes` routing values (docs/opensearch.md), 1 to 64.  If `titled`, chunks are embedded
    with title and headings; indexes of older versions are not.
    """

    name: str
    space: EmbeddingSpace
    chunking: ChunkingPlan
    routes: int = 1
    titled: bool = False

    @property
    def engine(self) -> Engine:
        """The kind of index."""
        return engine_of(self.name)

    @property
    def make(self) -> tuple[EmbeddingSpace, ChunkingPlan, bool, Engine]:
        """What is equal for two indexes of one kind with the same vectors of the same chunks."""
        return self.space, self.chunking, self.titled, self.engine


@dataclass(frozen=True, slots=True)
class IndexRef:
    """One tenant's part of one concrete index, named by every call to a ChunkIndex."""

    tenant: str
    name: str
    dimension: int
    routes: int = 1


@dataclass(frozen=True, slots=True)
class RateLimits:
    """The limits of a tenant; None is no limit.

    `per_minute` limits the requests of all its credentials together, `key_per_minute` those of each; `daily_tokens` the
    tokens of chat models and `daily_documents` the documents written over HTTP, in a day (UTC).
    """

    per_minute: int | None = None
    key_per_minute: int | None = None
    daily_tokens: int | None = None
    daily_documents: int | None = None

    def checked(self) -> RateLimits:
        """These limits, if they are valid.

        Raises InvalidParamsError: a limit is not in 1 to 1,000,000, of a day not in 1 to 10^12.
        """
        for name, value in asdict(self).items():
            most = MAX_PER_DAY if name.startswith("daily_") else MAX_PER_MINUTE
            if value is not None and not 1 <= value <= most:
                allowed = f"1 to {most}"
                message = f"{name} {value} is not in {allowed}"
                raise InvalidParamsError(message, field=name, value=value, allowed=allowed)
        return self

    @property
    def any(self) -> bool:
        """Whether there is a limit."""
        return self != NO_RATES

    @property
    def of_a_minute(self) -> bool:
        """Whether requests have a limit: without one they are not counted."""
        return self.per_minute is not None or self.key_per_minute is not None


NO_RATES = RateLimits()


@dataclass(frozen=True, slots=True)
class Tenant:
    """The registry's item of a tenant.

    `documents` and `chunks` count what is live, `counted` does so by vault; `generation` rises with every batch that
    changed something.  While a reindex runs, `building` is the next index; after the switch `previous` is the former
    one until it is dropped; `moves` counts these changes, and each is conditional on it.  `fits` has the
    last fit of each vault, `calibration` that of all vaults by an older version, each of any embedding space:
    `calibration_of` decides.  `settings` has the settings files by vault,
    the tenant's own under an empty name.  `doc_types` are `vault/doc_type` of all documents that were ever live.
    `promoted` has the stages, `vault/stage`, that every search reads until they are live, with seconds since 1970.
    `restricted` are vaults with documents that state, or once stated, who may read them.
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
    fits: Mapping[str, Calibration] = field(default_factory=dict)
    settings: Mapping[str, StoredSettings] = field(default_factory=dict)
    rates: RateLimits = NO_RATES
    promoted: Mapping[str, float] = field(default_factory=dict)
    counted: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    restricted: tuple[str, ...] = ()

    def may_hide(self, caller: Caller, vaults: Collection[str] = ()) -> bool:
        """Whether some document of *vaults*, of all that the caller may see if it is empty, may be hidden from it.

        >>> tenant = Tenant("acme", None, vaults=("hr", "team"), restricted=("hr",))
        >>> tenant.may_hide(Caller("acme", "reader")), tenant.may_hide(Caller("acme", "reader"), ["team"])
        (True, False)
        >>> tenant.may_hide(Caller("acme", "admin")), tenant.may_hide(Caller("acme", "reader", ("team",)))
        (False, False)
        """
        ruled = {vault for vault in self.settings if "access" in self.settings_of(vault)}
        within = {vault for vault in ruled.union(self.restricted) if caller.may_see(vault)}
        return not caller.reads_all and bool(within.intersection(vaults) if vaults else within)

    def counted_for(self, caller: Caller) -> tuple[int | None, int | None]:
        """Live documents and chunks that *caller* may see; None where some may be hidden from it."""
        return (None, None) if self.may_hide(caller) else self.count_in(caller.vaults)

    def count_in(self, vaults: Collection[str]) -> tuple[int | None, int | None]:
        """Live documents and chunks in *vaults*, in all if it is empty; None while those of a vault are unknown.

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
        """The values of the settings file of *vault*, of the tenant if it is None; empty if there is none."""
        stored = self.settings.get(vault or "")
        return {} if stored is None else stored.values

    def doc_types_in(self, vaults: Collection[str]) -> list[str]:
        """The doc_types that a query to *vaults* may name: those of their documents, and those of settings files.

        >>> Tenant("acme", None, doc_types=("hr/contract", "team/a/b")).doc_types_in(["team"])
        ['a/b']
        """
        stored = (name.partition("/") for name in self.doc_types)
        listed = [self.settings_of(vault).get("doc_types") or () for vault in (None, *vaults)]
        return sorted({kind for vault, _, kind in stored if vault in vaults}.union(*listed))

    def doc_types_for(self, caller: Caller) -> list[str]:
        """The doc_types that *caller* may know of: where documents may be hidden from it, those of settings files."""
        vaults = [vault for vault in self.vaults if caller.may_see(vault)]
        if not self.may_hide(caller):
            return self.doc_types_in(vaults)
        return sorted({kind for vault in (None, *vaults) for kind in self.settings_of(vault).get("doc_types") or ()})

    @property
    def settings_revision(self) -> str:
        """A text that differs after each change of a settings file of the tenant or of a vault.

        >>> Tenant("acme", None, settings={"team": StoredSettings({}, 7)}).settings_revision
        'team:7'
        """
        return ",".join(f"{name}:{stored.revision}" for name, stored in sorted(self.settings.items()))

    @property
    def index(self) -> IndexRef:
        """The tenant's part of its active index."""
        return self.part_of(self.active)

    @property
    def targets(self) -> tuple[ActiveIndex, ...]:
        """The indexes that every revision is written to; from a reindex until the old one is dropped, both."""
        return tuple(index for index in (self.active, self.building, self.previous) if index is not None)

    def part_of(self, index: ActiveIndex) -> IndexRef:
        """The tenant's part of *index*."""
        return IndexRef(self.name, index.name, index.space.dimension, index.routes)


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key as it is stored: the SHA-256 of its secret, never the secret.

    `lifetime_s` is its intended lifetime, None for ever; `label` its purpose.  `groups` are those of its holder; of a
    delegate those that it may speak for, any if it is empty.
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
    groups: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """Its name for operators: the first twelve digits of its hash, which open nothing."""
        return self.sha256[:KEY_ID_DIGITS]

    def state(self, now_s: float) -> KeyState:
        """Its state at *now_s* (seconds since 1970).

        >>> ApiKey("99f3", "acme", "reader", expires_at_s=60).state(60)
        'expired'
        """
        if self.revoked:
            return "revoked"
        return "active" if self.expires_at_s is None or now_s < self.expires_at_s else "expired"


@dataclass(frozen=True, slots=True)
class Caller:
    """The tenant and the rights of a credential.  An empty `vaults` means all, empty `groups` none.

    `credential` distinguishes the credentials of a tenant, for counting; it is no secret.  `label` is its purpose.
    """

    tenant: str
    role: Role
    vaults: tuple[str, ...] = field(default=())
    credential: str = field(default="", compare=False)
    label: str = field(default="", compare=False)
    groups: tuple[str, ...] = field(default=())

    @property
    def reads_all(self) -> bool:
        """Whether no rule of access hides a document of its vaults from it."""
        return self.role == "admin"

    @property
    def writer(self) -> str:
        """The writer's name in the record of the past: the credential's label, or the credential, in plain ASCII.

        >>> Caller("acme", "writer", credential="99f3", label="nightly sync").writer
        'nightly sync'
        """
        name = self.label.strip() if self.label.isascii() and self.label.isprintable() else ""
        return (name or self.credential).encode("ascii", "replace").decode()[:MAX_WRITER]

    def may_see(self, vault: str) -> bool:
        """Whether *vault* is in the credential's scope."""
        return not self.vaults or vault in self.vaults


def calibration_of(tenant: Tenant, vault: str = "") -> Calibration:
    """The calibration of a *vault* in the tenant's active index: its own fit if it is of that space, else the shipped.

    No other vault moves it.
    """
    space = tenant.active.space
    fits = (tenant.fits.get(vault), tenant.calibration)
    return next((fit for fit in fits if fit is not None and fit.space == space), for_space(space))


def key_hash(secret: str) -> str:
    """SHA-256 of a key's secret in hex, under which the key is stored."""
    return hashlib.sha256(secret.encode()).hexdigest()


def routes_for(chunks: int, each: int, least: int = 1) -> int:
    """Routing values of a tenant in an index that has shards: one for *each* so many chunks, at least *least*, to 64.

    >>> routes_for(10, 2_000_000), routes_for(5_000_000, 2_000_000), routes_for(10, 2_000_000, least=4)
    (1, 3, 4)
    """
    return min(64, max(least, -(-chunks // each)))


def index_name(space: EmbeddingSpace, engine: Engine, *, build: int = 1) -> str:
    """The concrete name of an index for *space*; each reindex of a space makes the next *build*.

    >>> index_name(EmbeddingSpace("nomic-ai/Nomic Embed", 768), "opensearch")
    'ragdrop-v1-nomic-ai-nomic-embed-768-1'
    """
    slug = re.sub(r"[^a-z0-9]+", "-", space.model.lower()).strip("-")[:80]
    return f"{_PREFIXES[engine]}-v{SCHEMA_VERSION}-{slug}-{space.dimension}-{build}"


def engine_of(name: str) -> Engine:
    """The kind of index that has this name.

    >>> engine_of("bucket-v1-nomic-768-1"), engine_of("ragdrop-v1-nomic-768-1")
    ('bucket', 'opensearch')
    """
    return "bucket" if name.startswith(f"{_PREFIXES['bucket']}-") else "opensearch"
