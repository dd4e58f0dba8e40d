"""What every chunk index asks of a vector before it uses it."""

from __future__ import annotations

import math
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
