"""Rules of settings: which a file may change, and their allowed values."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

Value: TypeAlias = "bool | int | float | str"
"""What one setting holds."""

AUTO = "auto"
FUSION_PATTERN = r"rrf|blend(:(0(\.\d{1,4})?|1(\.0{1,4})?))?"
CITATION_POLICIES = ("mark", "drop", "abstain")


@dataclass(frozen=True, slots=True)
class Number:
    """A number from `low` to `high`, both included; `or_auto` also takes the word `auto`."""

    low: float
    high: float
    whole: bool = False
    or_auto: bool = False

    @property
    def allowed(self) -> str:
        """What is allowed, in words.

        >>> Number(1, 20, whole=True, or_auto=True).allowed
        'a whole number from 1 to 20, or "auto"'
        """
        kind = "a whole number" if self.whole else "a number"
        return f"{kind} from {self.low:,} to {self.high:,}" + (', or "auto"' if self.or_auto else "")

    def admits(self, value: object) -> bool:
        """Whether *value* may be held; true and false are no numbers.

        >>> Number(0, 1).admits(0.5), Number(0, 1).admits(True), Number(1, 9, whole=True).admits(1.5)
        (True, False, False)
        """
        if self.or_auto and value == AUTO:
            return True
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        if self.whole and not isinstance(value, int):
            return False
        return math.isfinite(value) and self.low <= value <= self.high


@dataclass(frozen=True, slots=True)
class Flag:
    """True or false."""

    allowed: str = "true or false"

    def admits(self, value: object) -> bool:
        """Whether *value* may be held."""
        return isinstance(value, bool)


@dataclass(frozen=True, slots=True)
class Word:
    """A text that matches a pattern as a whole."""

    pattern: str
    allowed: str

    def admits(self, value: object) -> bool:
        """Whether *value* may be held.

        >>> fusion = RULES["fusion"]
        >>> fusion.admits("rrf"), fusion.admits("blend:0.4"), fusion.admits("blend:2")
        (True, True, False)
        """
        return isinstance(value, str) and re.fullmatch(self.pattern, value) is not None


Rule: TypeAlias = "Number | Flag | Word"

RULES: Mapping[str, Rule] = {
    "min_relevance": Number(0, 1),
    "max_results": Number(1, 20, whole=True, or_auto=True),
    "max_linked_docs": Number(0, 20, whole=True),
    "max_link_depth": Number(0, 5, whole=True),
    "boost_critical": Number(0, 1),
    "boost_important": Number(0, 1),
    "critical_share": Number(0, 1),
    "fusion": Word(FUSION_PATTERN, 'rrf, blend, or blend:W with the share of the vector score, as "blend:0.4"'),
    "citation_policy": Word("|".join(CITATION_POLICIES), ", ".join(CITATION_POLICIES)),
    "max_context_tokens": Number(1_000, 1_000_000, whole=True),
    "reserved_answer_tokens": Number(100, 1_000_000, whole=True),
    "reserved_prompt_tokens": Number(100, 1_000_000, whole=True),
    "keep_last_good": Flag(),
    "links_across_vaults": Flag(),
    "chunk_tokens": Number(32, 8_192, whole=True),
    "chunk_overlap_tokens": Number(0, 1_024, whole=True),
}
"""The settings (docs/settings.md) that tenants and vaults may change, by their names in files."""
