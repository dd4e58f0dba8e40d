"""The ways to make one ranking of vector and lexical hits that benchmarks/quality.py compares."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from ragdrop.domain.chunks import Candidates, Hit
from ragdrop.query.fusion import Fused, Fusion, fuse, min_max

Ranking = Callable[[Candidates, str], list[str]]
"""Document ids, best first, of the candidates for a question."""
Scale = Callable[[Mapping[str, float]], dict[str, float]]

WEIGHTS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
CHUNK_SUM = 0.1  # what each further chunk of a document adds, as a share of its score: three chunks count at most


def rankings() -> dict[str, Ranking]:
    """Every ranking by its name."""
    named: dict[str, Ranking] = {
        "vector alone": lambda found, _: _ids(fuse(found.vector, [], Fusion(heading_bonus=0.0))),
        "lexical alone": lambda found, _: _ids(fuse([], found.lexical, Fusion(heading_bonus=0.0))),
    }
    for bonus in (0.0, 0.1):
        told = f", heading bonus {bonus}" if bonus else ""
        for weight in WEIGHTS:
            named[f"blend {weight}{told}"] = partial(_fused, Fusion("blend", weight, bonus))
        named[f"RRF 60{told}"] = partial(_fused, Fusion("rrf", heading_bonus=bonus))
    for weight in (0.5, 0.7):
        named[f"min-max {weight}"] = partial(_scaled, min_max, weight)
    named["z-score 0.5"] = partial(_scaled, z_score, 0.5)
    named["distribution-based 0.5"] = partial(_scaled, three_sigma, 0.5)
    named["cosine from 0.2 on, 0.5"] = partial(_floored, 0.2, 0.5)
    named["blend 0.5, sum of chunks"] = _summed
    return named


def z_score(scores: Mapping[str, float]) -> dict[str, float]:
    """Standard deviations over the worst of the list, so that what a list does not hold is worth its worst."""
    mean, deviation = _moments(scores)
    return (
        {id_: (score - min(scores.values())) / deviation for id_, score in scores.items()} if mean is not None else {}
    )


def three_sigma(scores: Mapping[str, float]) -> dict[str, float]:
    """Places between three standard deviations under and over the mean (distribution-based score fusion)."""
    mean, deviation = _moments(scores)
    if mean is None:
        return {}
    return {id_: min(1.0, max(0.0, (score - mean) / (6 * deviation) + 0.5)) for id_, score in scores.items()}


def _moments(scores: Mapping[str, float]) -> tuple[float | None, float]:
    if not scores:
        return None, 1.0
    mean = math.fsum(scores.values()) / len(scores)
    return mean, math.sqrt(math.fsum((score - mean) ** 2 for score in scores.values()) / len(scores)) or 1.0


def _fused(fusion: Fusion, found: Candidates, question: str) -> list[str]:
    return _ids(fuse(found.vector, found.lexical, fusion, question=question))


def _summed(found: Candidates, question: str) -> list[str]:
    scores: dict[str, list[float]] = {}
    for each in fuse(found.vector, found.lexical, Fusion(heading_bonus=0.0), question=question):
        scores.setdefault(_id(each.hit), []).append(each.score)
    return _ordered({id_: held[0] + CHUNK_SUM * math.fsum(held[1:3]) for id_, held in scores.items()})


def _scaled(scale: Scale, weight: float, found: Candidates, _question: str) -> list[str]:
    return _combined(found, scale(_raw(found.vector)), scale(_raw(found.lexical)), weight)


def _floored(floor: float, weight: float, found: Candidates, _question: str) -> list[str]:
    raw = _raw(found.vector)
    best = max(raw.values(), default=0.0)
    near = {id_: max(0.0, score - floor) / (best - floor) if best > floor else 0.0 for id_, score in raw.items()}
    most = max(_raw(found.lexical).values(), default=1.0) or 1.0
    return _combined(found, near, {id_: score / most for id_, score in _raw(found.lexical).items()}, weight)


def _combined(found: Candidates, near: Mapping[str, float], worded: Mapping[str, float], weight: float) -> list[str]:
    if not near or not worded:
        weight = 1.0 if near else 0.0
    best: dict[str, float] = {}
    for hit in (*found.vector, *found.lexical):
        score = weight * near.get(hit.chunk_id, 0.0) + (1 - weight) * worded.get(hit.chunk_id, 0.0)
        best[_id(hit)] = max(best.get(_id(hit), score), score)
    return _ordered(best)


def _ordered(scores: Mapping[str, float]) -> list[str]:
    return sorted(scores, key=lambda id_: (-scores[id_], id_))


def _ids(fused: Sequence[Fused]) -> list[str]:
    return list(dict.fromkeys(_id(found.hit) for found in fused))


def _id(hit: Hit) -> str:
    return hit.key.path.removesuffix(".md")


def _raw(hits: Sequence[Hit]) -> dict[str, float]:
    return {hit.chunk_id: hit.score for hit in hits}
