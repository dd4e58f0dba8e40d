"""Checks and the parts of words that every chunk index shares."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from ragdrop.errors import ConfigurationError


def check_dimension(expected: int, given: int) -> None:
    """Return if the two agree.

    Raises:
        ConfigurationError: They do not: the model and the index were not made for each other.

    >>> check_dimension(384, 384)
    """
    if expected != given:
        raise ConfigurationError(
            f"the index holds vectors of {expected} dimensions, one of {given} was given: "
            "EMBEDDING_MODEL and EMBEDDING_DIMENSION must be those the index was built with",
            expected=expected,
            given=given,
        )


def has_direction(vector: Sequence[float]) -> bool:
    """Whether a cosine with *vector* is defined: not all zeros, nothing infinite, no NaN.

    >>> has_direction([0.0, 1.0]), has_direction([0.0, 0.0]), has_direction([float("nan"), 1.0])
    (True, False, False)
    """
    return 0.0 < math.hypot(*vector) < math.inf


MAX_TERMS = 128  # a question of 1,000 characters has fewer

# Letters and digits of any script, joined as in QX-5521, retry_after_s, notes/pump.md or l'eau.
JOINED_TERM = re.compile(r"[^\W_]+(?:[-_./:@+'\u2019][^\W_]+)*")
TERM_PART = re.compile(r"[^\W_]+")

# Lucene's English list.  They weigh next to nothing in BM25 but match nearly every chunk.
_ENGLISH = (
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these they this "
    "to was will with"
)
STOP_WORDS = frozenset(_ENGLISH.split())
