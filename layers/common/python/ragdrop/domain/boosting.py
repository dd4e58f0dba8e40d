"""Boosts: what was promoted stands higher; only the order and the score shown beside the raw one change."""

from __future__ import annotations

from dataclasses import dataclass

from ragdrop.domain.documents import PromotionLevel


@dataclass(frozen=True, slots=True)
class Boosts:
    """What is added to a score, on a scale of 0 to 1 (DESIGN 6.6).  All zeros turn boosting off."""

    critical: float = 0.15
    important: float = 0.10

    def of(self, level: PromotionLevel) -> float:
        """The boost of a promotion level.

        >>> Boosts().of("critical"), Boosts().of("important"), Boosts().of("standard")
        (0.15, 0.1, 0.0)
        """
        return {"critical": self.critical, "important": self.important}.get(level, 0.0)


def boosted(score: float, boost: float) -> float:
    """*score* with *boost*, capped at 1.0.

    >>> boosted(0.5, 0.25), boosted(0.95, 0.15)
    (0.75, 1.0)
    """
    return min(1.0, score + boost)
