"""How good a ranking is: measures over the relevant documents' places, all in [0, 1].

References:
    Järvelin, Kekäläinen, "Cumulated gain-based evaluation of IR techniques", ACM TOIS 2002; gains are the grades
    themselves, as in trec_eval and BEIR.
"""

import math
from collections.abc import Mapping, Sequence


def ndcg(ranked: Sequence[str], relevant: Mapping[str, float], *, at: int = 10) -> float:
    """Discounted gain of the first *at* of *ranked*, as a share of the best that any order could give.

    Args:
        ranked: Ids, best first, each once.
        relevant: Grades by id, over 0; what is missing has none.
        at: How many places count, from 1.

    >>> round(ndcg(["b", "a"], {"a": 1.0}), 4), ndcg(["a", "b"], {"a": 2.0, "b": 1.0}), ndcg(["c"], {"a": 1.0})
    (0.6309, 1.0, 0.0)
    """
    best = _discounted(sorted(relevant.values(), reverse=True)[:at])
    return _discounted([relevant.get(id_, 0.0) for id_ in ranked[:at]]) / best if best else 0.0


def recall(ranked: Sequence[str], relevant: Mapping[str, float], *, at: int = 10) -> float:
    """The share of the relevant that stands in the first *at* places.

    >>> recall(["a", "c", "b"], {"a": 1.0, "b": 1.0}, at=2)
    0.5
    """
    return len(set(ranked[:at]) & relevant.keys()) / len(relevant) if relevant else 0.0


def hit(ranked: Sequence[str], relevant: Mapping[str, float], *, at: int = 3) -> float:
    """1 if any relevant one stands in the first *at* places, else 0.

    >>> hit(["c", "a"], {"a": 1.0}), hit(["c", "a"], {"a": 1.0}, at=1)
    (1.0, 0.0)
    """
    return 1.0 if set(ranked[:at]) & relevant.keys() else 0.0


def reciprocal_rank(ranked: Sequence[str], relevant: Mapping[str, float]) -> float:
    """1 over the place of the first relevant one, 0 where there is none.

    >>> reciprocal_rank(["c", "a"], {"a": 1.0})
    0.5
    """
    return next((1.0 / place for place, id_ in enumerate(ranked, start=1) if id_ in relevant), 0.0)


def mean(values: Sequence[float]) -> float:
    """The mean of *values*, 0 where there are none.

    >>> mean([1.0, 0.0]), mean([])
    (0.5, 0.0)
    """
    return math.fsum(values) / len(values) if values else 0.0


def _discounted(gains: Sequence[float]) -> float:
    return math.fsum(gain / math.log2(place + 1) for place, gain in enumerate(gains, start=1))
