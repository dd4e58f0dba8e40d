"""Copy a kept revision into one more index of its tenant, part by part, with the vectors that it has where they fit."""

from __future__ import annotations

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Facts
from ragdrop.domain.tenants import ActiveIndex, Tenant
from ragdrop.usecases.kept_revision import KeptRevision
from ragdrop.usecases.known_vectors import KnownVectors
from ragdrop.usecases.revision_store import RevisionStore
from ragdrop.usecases.write_chunks import WriteChunks


class CopyRevision:
    """Writes a revision that is in some index of its tenant into another one."""

    def __init__(self, *, revisions: RevisionStore, write_chunks: WriteChunks) -> None:
        self._revisions = revisions
        self._write_chunks = write_chunks

    def __call__(
        self, kept: KeptRevision, facts: Facts, *, tenant: Tenant, target: ActiveIndex, deadline: Deadline
    ) -> int | None:
        """Write all parts of *kept* into *target*; how many chunks, or None where the text is gone.

        Raises:
            DependencyError: A service failed; the same call may succeed later.
        """
        others = [index for index in tenant.targets if index.name != target.name]
        sizes, count = "", 0
        for number, span in enumerate(kept.parts):
            document = kept.part(number)
            if document is None:
                return None
            known = KnownVectors.between([kept], others, span)
            cut = self._write_chunks.cut(
                kept, number, document, facts, tenant=tenant, target=target, first_ordinal=count
            )
            vectors = self._write_chunks.vectors([cut], known, deadline)
            count += self._write_chunks.write(cut, vectors, deadline)
            sizes = cut.sizes
        if len(kept.parts) > 1:
            self._revisions.mark_whole(kept, target.name, count, sizes=sizes)
        return count
