"""Why the results of a search are what they are: every candidate with its scores, and what became of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ragdrop.domain.chunks import Filters, Hit
from ragdrop.domain.retrieval import Candidate, Explanation, FoundDocument
from ragdrop.query.candidates import FoundCandidates
from ragdrop.query.fusion import Fused, share_of_best
from ragdrop.query.understand import ResolvedQuery

MAX_BYTES = 1_500_000  # a Lambda response has 6 MB, in which the results stand too
KEPT = "kept"
NOT_LIVE = "its revision is not the live one, or could not be verified"
NOISE = "its cosine is under the noise floor"


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided about the documents of a search."""

    results: Sequence[FoundDocument]
    critical: Sequence[FoundDocument]
    threshold: float
    limit: int
    relevance: Callable[[Fused], float]


def explanation(
    question: ResolvedQuery, decision: Decision, fused: Sequence[Fused], found: FoundCandidates
) -> Explanation:
    """Why the results of *question* are what they are."""
    ranked = {one.hit.chunk_id for one in fused}
    vault = fused[0].hit.key.vault if fused else ""
    noise = [hit for hit in found.vector if hit.chunk_id not in ranked]
    candidates, left_out = explained(fused, decision, noise=noise, dropped=found.dropped)
    return Explanation(
        candidates=candidates,
        folders_selected=[*question.query.folders, *question.query.prefer_folders, *question.folders.selected],
        folders_available=list(question.folders.available),
        scopes=scopes_as_values(question.scopes.each()),
        settings=question.settings.to_dict(),
        calibration={"vault": vault, **question.calibration(vault).to_dict()},
        left_out=left_out,
    )


def explained(
    fused: Sequence[Fused], decision: Decision, *, noise: Iterable[Hit] = (), dropped: Iterable[Hit] = ()
) -> tuple[list[Candidate], int]:
    """Every candidate and why it was kept or dropped, best first; those without a rank last; and how many had no room.

    The text of what is not live is never shown.
    """
    lexical = share_of_best({one.hit.chunk_id: one.lexical_score for one in fused if one.lexical_score is not None})
    shown = {chunk.hit.chunk_id for document in (*decision.results, *decision.critical) for chunk in document.chunks}
    results = {document.key for document in decision.results}
    critical = {document.key for document in decision.critical}
    found: list[Candidate] = []
    for place, one in enumerate(fused, start=1):
        relevance = decision.relevance(one)
        key, id_ = one.hit.key, one.hit.chunk_id
        if relevance < decision.threshold and id_ not in shown:
            reason = f"its relevance {relevance:.3f} is under min_relevance {decision.threshold:g}"
        elif key not in results | critical:
            reason = f"its document is beyond the limit of {decision.limit}"
        elif id_ not in shown:
            reason = "it is beyond the best 3 chunks of its document"
        else:
            reason = "kept among the critical documents" if key in critical else KEPT
        vector = None if one.vector_score is None else max(0.0, one.vector_score)
        found.append(_candidate(one.hit, reason, id_ in shown, place, (vector, lexical.get(id_), one.score, relevance)))
    ranked = {one.hit.chunk_id for one in fused}
    found += [_candidate(hit, NOISE, False) for hit in noise if hit.chunk_id not in ranked]  # noqa: FBT003
    found += [_candidate(hit, NOT_LIVE, False, text="") for hit in dropped]  # noqa: FBT003
    return _within(found)


def scopes_as_values(scopes: Sequence[Filters]) -> list[dict[str, Any]]:
    """Scopes as plain values: what restricts, by name.

    >>> scopes_as_values([Filters(vaults=("team",))])
    [{'vaults': ['team']}]
    """
    return [{name: value for name in Filters.__slots__ if (value := _plain(getattr(each, name)))} for each in scopes]


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return [f"{one.vault or '*'}/{one.path}" if hasattr(one, "vault") else one for one in value]
    value = scopes_as_values([value])[0] if isinstance(value, Filters) else value
    return dict(value) if isinstance(value, Mapping) else value


Scores = tuple[float | None, float | None, float | None, float | None]


def _candidate(
    hit: Hit,
    reason: str,
    kept: bool,  # noqa: FBT001
    rank: int | None = None,
    scores: Scores = (None, None, None, None),
    *,
    text: str | None = None,
) -> Candidate:
    heading = hit.chunk.heading_path if text is None else ()
    body = hit.chunk.text if text is None else text
    return Candidate(hit.chunk_id, hit.key.vault, hit.key.path, heading, body, *scores, rank, kept, reason)


def _within(candidates: list[Candidate]) -> tuple[list[Candidate], int]:
    left = MAX_BYTES
    for place, candidate in enumerate(candidates):
        left -= 700 + len(candidate.text.encode(errors="replace")) + sum(map(len, candidate.heading_path))
        if left < 0:
            return candidates[:place], len(candidates) - place
    return candidates, 0
