"""Whether one ranking is better than another by more than chance: a paired randomisation test over questions."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

ROUNDS = 2_000
SEED = 1


def p_value(one: Sequence[float], other: Sequence[float]) -> float:
    """How often a difference of means this large comes by chance, in (0, 1]; the pairs are of the same questions.

    References:
        Smucker, Allan, Carterette, "A Comparison of Statistical Significance Tests for Information Retrieval
        Evaluation", CIKM 2007.

    >>> p_value([1.0, 0.5], [1.0, 0.5])
    1.0
    """
    differences = [left - right for left, right in zip(one, other, strict=True) if left != right]
    seen = abs(math.fsum(differences))
    source = random.Random(SEED)
    count = 1
    for _ in range(ROUNDS):
        bits = source.getrandbits(max(len(differences), 1))
        total = sum(value if bits >> place & 1 else -value for place, value in enumerate(differences))
        count += abs(total) >= seen - 1e-12
    return count / (ROUNDS + 1)
