"""A bounded sample of a tenant's live documents: titles and headings, and the vectors of what stands under them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ragdrop.domain.calibration_fit import usable_titles
from ragdrop.domain.chunks import Vector
from ragdrop.domain.documents import Head
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import Tenant
from ragdrop.ports import Registry
from ragdrop.usecases.revision_store import RevisionStore

MAX_LISTED = 4_000  # heads read, spread over the vaults
MAX_DOCUMENTS = 150  # each is one object read from the state bucket
MAX_CHUNKS = 400  # a longer document is left out: its vectors alone would be most of the work
MAX_HEADINGS = 2  # a document, besides its title
PAGE = 1_000

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class PseudoQuery:
    """A title or heading, and the vectors of the chunks under it."""

    text: str
    key: DocumentKey
    own: tuple[Vector, ...]


@dataclass(frozen=True, slots=True)
class Sample:
    """Pseudo-queries, and all vectors of each document they came from."""

    queries: list[PseudoQuery]
    vectors: dict[DocumentKey, list[Vector]]


class SampleDocuments:
    """Draws the sample; the same documents always give the same one."""

    def __init__(self, *, registry: Registry, revisions: RevisionStore) -> None:
        self._registry = registry
        self._revisions = revisions

    def __call__(self, tenant: Tenant, progress: Progress) -> Sample:
        """Read up to 150 live documents of the tenant's active index; *progress* is told how many are read.

        Raises:
            DependencyError: A service failed; the same call may succeed later.
        """
        chance = random.Random(tenant.name)  # noqa: S311 - a sample, not a secret
        listed = self._listed(tenant)
        chosen = chance.sample(listed, min(len(listed), MAX_DOCUMENTS))
        vectors: dict[DocumentKey, list[Vector]] = {}
        titled: list[tuple[DocumentKey, dict[str, list[Vector]]]] = []
        for done, head in enumerate(chosen, start=1):
            under = self._under_titles(head, tenant, vectors)
            titled.append((head.key, under))
            progress(done, len(chosen))
        queries = []
        usable = usable_titles([under for _, under in titled])
        for (key, under), titles in zip(titled, usable, strict=True):
            headings = titles[1:]
            wanted = [*titles[:1], *chance.sample(headings, min(len(headings), MAX_HEADINGS))]
            queries += [PseudoQuery(title, key, tuple(under[title])) for title in wanted]
        return Sample(queries, vectors)

    def _listed(self, tenant: Tenant) -> list[Head]:
        """Heads of live documents in order, as many of each vault as its share of the bound."""
        found: list[Head] = []
        share = max(MAX_LISTED // max(len(tenant.vaults), 1), 1)
        for vault in tenant.vaults:
            cursor, left = None, share
            while left > 0:
                size = min(left, PAGE)
                page = self._registry.page(tenant.name, vault=vault, prefix="", status=None, cursor=cursor, limit=size)
                found += [head for head in page.heads if head.live_revision is not None]
                left, cursor = left - size, page.cursor
                if cursor is None:
                    break
        return [head for head in found if 0 < head.chunk_count <= MAX_CHUNKS]

    def _under_titles(
        self, head: Head, tenant: Tenant, vectors: dict[DocumentKey, list[Vector]]
    ) -> dict[str, list[Vector]]:
        """The document's title and headings, each with the vectors under it; adds all of them to *vectors*."""
        revision = self._revisions.open(head.key, head.live_revision or 0)
        kept = list(revision.chunks_between(tenant.active.name, texts=False)) if revision else []
        if not kept:
            return {}
        vectors[head.key] = [vector for _, vector in kept]
        under: dict[str, list[Vector]] = {_spaced(head.title or ""): vectors[head.key]}
        for chunk, vector in kept:
            for heading in chunk.heading_path:
                if _spaced(heading) != _spaced(head.title or ""):
                    under.setdefault(_spaced(heading), []).append(vector)
        return under


def cosine(one: Vector, other: Vector) -> float:
    """The cosine of two vectors of length 1, in [-1, 1]."""
    return sum(left * right for left, right in zip(one, other, strict=True))


def best(query: Vector, vectors: Sequence[Vector]) -> float:
    """The highest cosine of *query* with any of *vectors*, of which there is at least one."""
    return max(cosine(query, vector) for vector in vectors)


def _spaced(title: str) -> str:
    return " ".join(title.split())
