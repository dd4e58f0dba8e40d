"""Reuse vectors of the live revision, or of another document with the same text."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ragdrop.domain.chunks import Vector
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.models import EmbeddingSpace
from ragdrop.domain.tenants import ActiveIndex
from ragdrop.ingest.revision_store import RevisionStore
from ragdrop.ingest.stored_revision import StoredRevision
from ragdrop.ports import ObjectStore

Vectors = dict[tuple[EmbeddingSpace, str], Vector]


class KnownVectors:
    """Finds vectors by text.  Nothing here crosses a tenant."""

    def __init__(self, state: ObjectStore, revisions: RevisionStore) -> None:
        self._state = state
        self._revisions = revisions

    def sources(self, kept: StoredRevision, live_revision: int | None) -> list[StoredRevision]:
        """Where vectors for *kept* may be: its live revision, and the last document that had exactly its text."""
        places = [(kept.key, live_revision)] if live_revision is not None else []
        twin = self._state.get(twin_name(kept.key.tenant, kept.text_digest or ""))
        if twin is not None:
            place = json.loads(twin)
            places.append((DocumentKey(kept.key.tenant, place["vault"], place["path"]), place["revision"]))
        opened = (self._revisions.open(key, revision) for key, revision in places)
        return [source for source in opened if source is not None]

    @staticmethod
    def between(
        sources: Sequence[StoredRevision], targets: Sequence[ActiveIndex], span: tuple[int, int] | None = None
    ) -> Vectors:
        """The vectors of the chunks that *sources* have in *span* of their texts (all of it if None).

        Model and prefixes are part of the key, so that vectors of another space are never taken.
        """
        return {
            (target.space, chunk.passage): vector
            for source in sources
            for target in targets
            for chunk, vector in source.chunks_between(target.name, *(span or ()))
        }

    def remember(self, kept: StoredRevision) -> None:
        """Note that this revision holds the vectors of its text."""
        place = {"vault": kept.key.vault, "path": kept.key.path, "revision": kept.revision}
        body = json.dumps(place, ensure_ascii=False).encode()
        self._state.put(twin_name(kept.key.tenant, kept.text_digest or ""), body, media_type="application/json")


def twin_name(tenant: str, text_digest: str) -> str:
    """The object that says which revision holds the vectors of the text with this SHA-256."""
    return f"texts/{tenant}/{text_digest}"
