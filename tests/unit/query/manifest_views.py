"""Views of a bucket index as the exploration of known heads has them: which manifest is held, and by which counts."""

from __future__ import annotations

from typing import Any

from bucketindex.manifest import Manifest
from bucketindex.segment_view import Lost, SegmentView
from bucketindex.views import Views
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import IndexRef
from tests.contract.registry_examples import NOW_S

INDEX, NEVER = IndexRef("acme", "bucket-v1-m-8-1", 8), Deadline.after(3_600)


class ManifestViews(Views):
    """The views of a bucket index whose segments nobody opens: which manifest one is of is all that counts here."""

    def __init__(self, manifests: Any) -> None:
        super().__init__(manifests, None, clock=lambda: NOW_S)  # type: ignore[arg-type]

    def _opened(
        self, index: IndexRef, manifest: Manifest, earlier: Any, deadline: Deadline, **named: bool
    ) -> SegmentView:
        del earlier, deadline, named
        return SegmentView(index, manifest, (), lexical=None, lost=Lost((), 0, None))

    @property
    def signature(self) -> Any:
        """What is held."""
        held = self._views.get(INDEX)
        return held and (held.view.manifest.sequence, held.counts and frozenset(held.counts.counts.items()))


def segment_name_of(key: DocumentKey, revision: int | None) -> str:
    """The segment that a revision is in."""
    return f"{key.path}@{revision}"
