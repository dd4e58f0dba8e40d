"""Check one sentence of an answer: whether it makes a claim, and which chunk supports it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from ragdrop.domain.answers import Citation, Segment
from ragdrop.generate.sentences import content_words
from ragdrop.generate.support import Evidence, evidence, find_folded, joint_problem

UNKNOWN_MARKER = "unknown_marker"
MOST_CANDIDATES = 3  # segments whose sentences are compared with a sentence that names none
# Content words of sentences that speak of the answer itself: "Here is what I found in the documents:".
ABOUT_THE_ANSWER = frozenset(
    content_words(
        "above anything answer answers ask based below briefly details document documents else example examples feel "
        "find following follows found free glad happy hello help here hi hope information know let like list need "
        "note overview please points provided question questions regarding shown sorry sources step steps summary "
        "summarize sure thank thanks understand want welcome"
    )
)

_LEAD = re.compile(r"^\s*(?:(?:[-*+•>]|#{1,6}|\d{1,3}[.)])\s+)+")
_HEADING = re.compile(r"^\s*(?:#{1,6}\s|\*\*[^*\n]+\*\*\s*$|__[^_\n]+__\s*$)")
_MARKUP = re.compile(r"^```\w*\n|\*\*|__|`")


@dataclass(frozen=True, slots=True)
class Checked:
    """What the check of one claim gave."""

    citations: list[Citation]
    reason: str | None
    support: float | None


def check(claim: str, cited: Sequence[Segment], *, bucket: str) -> Checked:
    """Compare *claim* with each segment that it cites, then with all together.

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


def asserts(sentence: str, known: Callable[[], frozenset[str]]) -> bool:
    """Whether *sentence* claims something that sources must support.

    Greetings and remarks on the answer itself claim nothing: all their content words are in ABOUT_THE_ANSWER.  Nor do
    headings, questions and lead-ins that end with a colon, if each of their content words occurs in the sources too.
    So a number, a name or a word of one's own always makes a claim.

    Args:
        sentence: A sentence, a list item, a row or a block of code, with its marks.
        known: The content words of all sources, made when they are needed.

    >>> asserts("Here is what I found:", frozenset), asserts("The pump is red:", frozenset), asserts("---", frozenset)
    (False, True, False)
    >>> asserts("## Restarting pumps", lambda: known_words_of(["The pump restarts."])), asserts("Yes.", frozenset)
    (False, True)
    """
    said = plain(sentence)
    if not any(letter.isalnum() for letter in said):
        return False
    words = frozenset(content_words(said))
    if not words:
        return False
    if words <= ABOUT_THE_ANSWER:
        return False
    leads = said.endswith((":", "?", "：", "？")) or _HEADING.match(sentence) is not None
    return not (leads and words <= ABOUT_THE_ANSWER | known())


def known_words(segments: Sequence[Segment]) -> frozenset[str]:
    """The content words of all *segments*, their titles and headings among them."""
    return known_words_of([f"{_about(segment)}\n{segment.hit.chunk.text}" for segment in segments])


def known_words_of(texts: Sequence[str]) -> frozenset[str]:
    """The content words of *texts*."""
    return frozenset(word for text in texts for word in content_words(text))


def attribute(claim: str, segments: Sequence[Segment], *, bucket: str) -> Checked:
    """Find the evidence of a *claim* that names no segment.

    The segments that hold most of its words are read, at most MOST_CANDIDATES; one that supports it is cited, else the
    best two where they support it together.
    """
    said = plain(claim)
    wanted = frozenset(content_words(said))

    def worth(segment: Segment) -> tuple[bool, int]:
        text = segment.hit.chunk.text
        return find_folded(said.rstrip(".!?… "), text) is not None, len(wanted & _words_of(text))

    nearest = sorted(segments, key=worth, reverse=True)[:MOST_CANDIDATES]
    alone = [check(claim, [segment], bucket=bucket) for segment in nearest]
    supporting = [each for each in alone if each.reason is None]
    if supporting:
        return _attributed(max(supporting, key=lambda each: each.support or 0.0))
    together = check(claim, nearest[:2], bucket=bucket)
    if together.reason is None:
        return _attributed(together)
    best = max(alone, key=lambda each: each.support or 0.0, default=Checked([], "words", 0.0))
    return replace(best, citations=[])


def _attributed(checked: Checked) -> Checked:
    return replace(checked, citations=[replace(each, attributed=True) for each in checked.citations])


@lru_cache(maxsize=1_024)
def _words_of(text: str) -> frozenset[str]:
    return frozenset(content_words(text))


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
