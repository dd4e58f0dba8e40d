"""Query: a question with its filters, scopes and options."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ragdrop.domain.documents import PROMOTION_LEVELS, ContentType, PromotionLevel

DetailLevel = Literal["brief", "normal", "detailed"]
Mode = Literal["normal", "fast"]
Expand = Literal["auto", "neighbours", "document"]
FAST_LIMIT = 3


@dataclass(frozen=True, slots=True)
class Query:
    """A question to the documents; None means that settings decide.

    Args:
        text: 1 to 1,000 characters, trimmed.
        folders: A strict filter: `path` or `vault/path`, on segment boundaries.
        prefer_folders: These first; changes the order alone.
        limit: Documents, 1 to 20; None chooses 3 to 8 by the question.
        min_relevance: On the calibrated scale, 0 to 1.
        date_from, date_to: ISO 8601, both included.
        session: Whose visited cache keeps links from being expanded twice; no filter.
        agent: A label for metrics.
        stage: What the documents would say if this stage were promoted.
        as_of: What the documents said then: RFC 3339, within the retention.
    """

    text: str
    vaults: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    prefer_folders: tuple[str, ...] = ()
    rank_folders: bool = False
    limit: int | None = None
    detail: DetailLevel = "normal"
    mode: Mode = "normal"
    min_relevance: float | None = None
    doc_types: tuple[str, ...] = ()
    content_types: tuple[ContentType, ...] = ()
    categories: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    session_ids: tuple[str, ...] = ()
    date_from: str | None = None
    date_to: str | None = None
    attributes: dict[str, str] = field(default_factory=dict)
    min_promotion_level: PromotionLevel | None = None
    include_critical: bool = True
    follow_links: bool = True
    apply_boosting: bool = True
    max_linked_docs: int | None = None
    max_link_depth: int | None = None
    expand: Expand = "auto"
    session: str | None = None
    include_context: bool = False
    allow_fallback: bool = True
    agent: str | None = None
    as_of: str | None = None
    stage: str | None = None
    debug: bool = False

    @property
    def fast(self) -> bool:
        """Whether links and folder ranking are off, even if asked for."""
        return self.mode == "fast"

    @property
    def promotion_levels(self) -> tuple[PromotionLevel, ...]:
        """The levels that `min_promotion_level` lets through; none means all.

        >>> Query("pump", min_promotion_level="important").promotion_levels
        ('important', 'critical')
        """
        if self.min_promotion_level in {None, "standard"}:
            return ()
        return PROMOTION_LEVELS[PROMOTION_LEVELS.index(self.min_promotion_level or "standard") :]
