"""Tenants, their keys, and the index that answers for them."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from typing import Literal

from ragdrop.domain.calibration import Calibration

Role = Literal["reader", "writer", "admin"]
ROLES: tuple[Role, ...] = ("reader", "writer", "admin")
SCHEMA_VERSION = 1  # raised when the index's fields change: old and new then have different names


@dataclass(frozen=True, slots=True)
class EmbeddingSpace:
    """Where vectors can be compared: one model, its dimension, and the prefixes of queries and passages."""

    model: str
    dimension: int
    query_prefix: str = ""
    passage_prefix: str = ""


@dataclass(frozen=True, slots=True)
class ChunkingPlan:
    """Sizes of chunks in tokens of the embedding model; code has its own."""

    max_tokens: int = 512
    overlap_tokens: int = 50
    code_max_tokens: int = 256
    code_overlap_tokens: int = 25

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


@dataclass(frozen=True, slots=True)
class ActiveIndex:
    """The index that answers for a tenant: its concrete name and how its vectors and chunks were made.

    `routes` is the number of routing values a tenant is spread over (DESIGN 5), 1 to 64.
    """

    name: str
    space: EmbeddingSpace
    chunking: ChunkingPlan
    routes: int = 1


@dataclass(frozen=True, slots=True)
class IndexRef:
    """One tenant's part of one concrete index: what every call to a ChunkIndex names."""

    tenant: str
    name: str
    dimension: int
    routes: int = 1


@dataclass(frozen=True, slots=True)
class Tenant:
    """The registry's item of a tenant.

    `documents` and `chunks` are counters of what is live; `generation` rises with every batch that changed something.
    While a reindex runs, `building` is the index to come; after the switch `previous` is the one that answered before,
    until it is dropped.  `moves` counts these changes: each is a write conditional on it.  `calibration` is the last
    fit, of whatever embedding space: `shipped_calibrations.in_force` says what holds.
    """

    name: str
    active: ActiveIndex
    enabled: bool = True
    documents: int = 0
    chunks: int = 0
    generation: int = 0
    vaults: tuple[str, ...] = ()
    created_at: str = ""
    building: ActiveIndex | None = None
    previous: ActiveIndex | None = None
    moves: int = 0
    calibration: Calibration | None = None

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
    """A key as the registry keeps it: by the SHA-256 of its secret, never the secret."""

    sha256: str
    tenant: str
    role: Role
    vaults: tuple[str, ...] = ()
    expires_at_s: float | None = None
    revoked: bool = False
    created_at: str = ""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: the tenant and rights that the credential gives.  An empty `vaults` means all."""

    tenant: str
    role: Role
    vaults: tuple[str, ...] = field(default=())

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


def index_name(space: EmbeddingSpace, *, build: int = 1) -> str:
    """The concrete name of an index for *space*; *build* tells two of the same space apart (a reindex makes the next).

    >>> index_name(EmbeddingSpace("nomic-ai/Nomic Embed", 768))
    'ragdrop-v1-nomic-ai-nomic-embed-768-1'
    """
    slug = re.sub(r"[^a-z0-9]+", "-", space.model.lower()).strip("-")[:80]
    return f"ragdrop-v{SCHEMA_VERSION}-{slug}-{space.dimension}-{build}"
