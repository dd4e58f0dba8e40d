"""One claim of an answer, held against the chunks that it cites."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from ragdrop.domain.answers import Citation, Segment
from ragdrop.domain.support import Evidence, evidence, joint_problem

UNKNOWN_MARKER = "unknown_marker"

_LEAD = re.compile(r"^\s*(?:(?:[-*+•>]|#{1,6}|\d{1,3}[.)])\s+)+")
_MARKUP = re.compile(r"^```\w*\n|\*\*|__|`")


@dataclass(frozen=True, slots=True)
class Checked:
    """What the check of one claim gave."""

    citations: list[Citation]
    reason: str | None
    support: float | None


def check(claim: str, cited: Sequence[Segment], *, bucket: str) -> Checked:
    """Hold *claim* against each segment that it cites, then against all together.

    A citation is verified where its chunk alone supports the claim, or where the chunks do so together and this one
    holds a share of it.
    """
    said = plain(claim)
    found = [evidence(said, segment.hit.chunk.text, about=_about(segment)) for segment in cited]
    reason = None if any(one.problem is None for one in found) else next((one.problem for one in found), None)
    together = False
    if reason is not None and len(found) > 1:
        slices = [segment.hit.chunk.text[one.start : one.end] for segment, one in zip(cited, found, strict=True)]
        together = joint_problem(said, slices, about=" ".join(map(_about, cited))) is None
        reason = None if together else reason
    citations = [
        _citation(segment, one, verified=one.problem is None or (together and one.support > 0), bucket=bucket)
        for segment, one in zip(cited, found, strict=True)
    ]
    return Checked(citations, reason, max((one.support for one in found), default=None))


def best_segment(claim: str, segments: Sequence[Segment]) -> Segment:
    """The segment that supports *claim* best, the first of equals."""
    said = plain(claim)

    def worth(segment: Segment) -> tuple[bool, float]:
        found = evidence(said, segment.hit.chunk.text, about=_about(segment))
        return found.problem is None, found.support

    return max(segments, key=worth)


def plain(claim: str) -> str:
    """The sentence without list marks, heading marks, code fences and emphasis.

    >>> plain("2. The **pump** is `red`.")
    'The pump is red.'
    """
    return _MARKUP.sub("", _LEAD.sub("", claim)).strip()


def _about(segment: Segment) -> str:
    hit = segment.hit
    return " ".join((hit.facts.title, *hit.chunk.heading_path, hit.chunk.context))


def _citation(segment: Segment, found: Evidence, *, verified: bool, bucket: str) -> Citation:
    hit = segment.hit
    return Citation(
        marker=segment.number,
        bucket=bucket,
        hit=hit,
        start=hit.chunk.start + found.start,
        end=hit.chunk.start + found.end,
        quote=hit.chunk.text[found.start : found.end],
        chunk_hash=hashlib.sha256(hit.chunk.text.encode()).hexdigest(),
        support=found.support,
        status="verified" if verified else "unsupported",
    )
