"""The second wall: what an index gives of another tenant is dropped and reported, whatever the index was asked."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from ragdrop.domain.chunks import Candidates, Hit

logger = logging.getLogger(__name__)


def own(hits: Sequence[Hit], tenant: str) -> list[Hit]:
    """Those of *hits* that are *tenant*'s.  Any other is an error of the index, and is logged by its number alone."""
    kept = [hit for hit in hits if hit.key.tenant == tenant]
    if len(kept) < len(hits):
        logger.error("the index gave chunks of another tenant", extra={"dropped": len(hits) - len(kept)})
    return kept


def own_candidates(found: Candidates, tenant: str) -> Candidates:
    """The candidates of one scope without those of other tenants."""
    return replace(found, vector=own(found.vector, tenant), lexical=own(found.lexical, tenant))
