"""Check one sentence of an answer: whether it makes a claim, and which chunk supports it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol

from groundcheck.certainty import is_denied, same_operators
from groundcheck.clauses import Finding
from groundcheck.languages import Language, in_english, language_of
from groundcheck.quotes import find_folded
from groundcheck.relations import changed_relation, order_is_visible, other_actor, turned_comparison
from groundcheck.sentences import content_words
from groundcheck.support import (
    Evidence,
    evidence,
    joint_problem,
    sentence_around,
    sentences_without_conflict,
    tells_another,
)
from ragdrop.domain.answers import STANDING, Citation, ClaimStatus, Segment
from ragdrop.ports.models import OpenClaim, Opinion

UNKNOWN_MARKER = "unknown_marker"
MAX_PASSAGES = 60  # that a verifier is shown of one claim
MOST_ASKED = 12  # segments whose passages a verifier may be shown
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


STATES_IT = 0.85  # share of a sentence's words from which on its evidence may be said to state it
_RANK: dict[ClaimStatus, int] = {"verified": 0, "supported": 1, "contradicted": 2, "unsupported": 3, "not_a_claim": 4}
SAID_BY_ANOTHER = Finding("attribution", "unsupported")  # or by the same one under another name


@dataclass(frozen=True, slots=True)
class Checked:
    """What the check of one claim gave; `reason` is what is wrong, or not certain, None where it is verified."""

    citations: list[Citation]
    status: ClaimStatus
    reason: str | None
    support: float | None

    @property
    def stands(self) -> bool:
        """Whether there is evidence for the claim."""
        return self.status in STANDING


@dataclass(frozen=True, slots=True)
class _Judged:
    """What one slice of a chunk says of a claim."""

    evidence: Evidence
    status: ClaimStatus
    reason: str | None


class SecondOpinion(Protocol):
    """Asks a verifier; None where it did not answer, or cannot tell more of a claim that has evidence."""

    def __call__(self, claim: OpenClaim, *, has_evidence: bool) -> Opinion | None:
        """What it says of *claim*."""
        ...

    @property
    def warning(self) -> str | None:
        """Why it stopped answering; None while it answers."""
        ...

    @property
    def tokens(self) -> tuple[int, int]:
        """Tokens that a chat model read and wrote for it."""
        ...


def check(claim: str, cited: Sequence[Segment], *, bucket: str, ask: SecondOpinion | None = None) -> Checked:
    """Compare *claim* with each segment that it cites, then with all together; let a verifier judge what stays open.

    The claim has the best status that one chunk alone gives it.  What several chunks hold only together is `supported`:
    each sentence of theirs is true by itself, and nobody said that they belong together.
    """
    said = plain(claim)
    found = [_judge(said, segment) for segment in cited]
    best = min(found, key=lambda one: (_RANK[one.status], -one.evidence.support), default=None)
    status: ClaimStatus = best.status if best else "unsupported"
    reason = best.reason if best else "words"
    together = False
    if _RANK[status] > _RANK["supported"] and len(found) > 1 and all(one.status == "unsupported" for one in found):
        slices = [
            segment.hit.chunk.text[one.evidence.start : one.evidence.end]
            for segment, one in zip(cited, found, strict=True)
        ]
        together = joint_problem(said, slices, about=" ".join(map(_about, cited))) is None
    if together:
        status, reason = "supported", "several"
        found = [replace(one, status=status) if one.evidence.support > 0 else one for one in found]
    citations = [_citation(segment, one, bucket=bucket) for segment, one in zip(cited, found, strict=True)]
    checked = Checked(citations, status, reason, max((one.evidence.support for one in found), default=None))
    return checked if ask is None else _settled(said, cited, checked, ask=ask, bucket=bucket)


def _settled(said: str, segments: Sequence[Segment], checked: Checked, *, ask: SecondOpinion, bucket: str) -> Checked:
    """*checked*, or what a verifier makes of it where rules leave it open: never against them."""
    is_open = checked.status == "supported" or (checked.status == "unsupported" and checked.reason == "words")
    if not is_open:
        return checked
    places = [
        (segment, span)
        for segment in segments
        for span in sentences_without_conflict(said, segment.hit.chunk.text, about=_about(segment))
    ][:MAX_PASSAGES]
    if not places:
        return checked
    texts = tuple(segment.hit.chunk.text[span.start : span.end] for segment, span in places)
    opinion = ask(OpenClaim(said, texts), has_evidence=checked.stands)
    if opinion is None or opinion.passage is None or _RANK[opinion.status] >= _RANK[checked.status]:
        return checked
    segment, span = places[opinion.passage]
    text = segment.hit.chunk.text[span.start : span.end]
    relation = changed_relation(said, text)
    if relation is not None and relation.verdict != "open" and relation != SAID_BY_ANOTHER:
        return replace(checked, reason=relation.kind)
    found = Evidence(span.start, span.end, checked.support or 0.0)
    reason = None if opinion.status == "verified" else "meaning"
    judged = _Judged(found, opinion.status, reason)
    others = [each for each in checked.citations if each.marker != segment.number]
    citations = [_citation(segment, judged, bucket=bucket), *others]
    citations.sort(key=lambda each: [one.number for one in segments].index(each.marker))
    return Checked(citations, opinion.status, reason, checked.support)


def _judge(said: str, segment: Segment) -> _Judged:
    text = segment.hit.chunk.text
    found = evidence(said, text, about=_about(segment))
    around = sentence_around(text, found.start, found.end)
    if found.problem == "negation" and turned_comparison(said, around):
        return _Judged(found, "supported", "comparison")
    if found.problem is not None:
        denied = found.problem == "negation" and found.support >= STATES_IT
        changed = denied or tells_another(said, around, found.problem)
        return _Judged(found, "contradicted" if changed else "unsupported", found.problem)
    language = language_of(said)
    if language != "en":
        return _judged_elsewhere(said, around, found, language)
    relation = changed_relation(said, around)
    if relation is not None and relation.verdict != "open":
        return _Judged(found, relation.verdict, relation.kind)
    if other_actor(said, around, text.replace(around, " ")):
        return _Judged(found, "unsupported", "roles")
    if relation is not None:
        return _Judged(found, "supported", relation.kind)
    if found.support < STATES_IT:
        return _Judged(found, "supported", "words")
    if not order_is_visible(said, around):
        return _Judged(found, "supported", "roles")
    stated = found.support == 1 and same_operators(said, around)
    return _Judged(found, "verified", None) if stated else _Judged(found, "supported", "words")


def _judged_elsewhere(said: str, around: str, found: Evidence, language: Language) -> _Judged:
    """The verdict on a sentence that is not English: numbers, names and words agree, no rule reads its relations."""
    if language and found.support >= STATES_IT and is_denied(said, around):
        return _Judged(found, "contradicted", "negation")
    is_whole = _bare(said) == _bare(around)
    if is_whole or (language and found.support == 1 and same_operators(said, around)):
        visible = is_whole or order_is_visible(in_english(said), in_english(around))
        return _Judged(found, "verified", None) if visible else _Judged(found, "supported", "roles")
    return _Judged(found, "supported", "words" if language else "language")


def _bare(sentence: str) -> str:
    return " ".join(sentence.casefold().split()).rstrip(".!?… ")


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


def attribute(claim: str, segments: Sequence[Segment], *, bucket: str, ask: SecondOpinion | None = None) -> Checked:
    """Find the evidence of a *claim* that names no segment; nothing is cited for one that has none."""
    found = nearest_evidence(claim, segments, bucket=bucket, ask=ask)
    cited = [replace(each, attributed=True) for each in found.citations] if found.stands else []
    return replace(found, citations=cited)


def nearest_evidence(
    claim: str, segments: Sequence[Segment], *, bucket: str, ask: SecondOpinion | None = None
) -> Checked:
    """Find what *segments* say of a *claim*: where rules find no evidence, a verifier may.

    The segments that hold most of its words are read, at most MOST_CANDIDATES; one that supports it is cited, else the
    best two where they support it together, else the one that comes nearest.
    """
    said = plain(claim)
    wanted = frozenset(content_words(said))

    def worth(segment: Segment) -> tuple[bool, int]:
        text = segment.hit.chunk.text
        return find_folded(said.rstrip(".!?… "), text) is not None, len(wanted & _words_of(text))

    ranked = sorted(segments, key=worth, reverse=True)[:MOST_ASKED]
    nearest = ranked[:MOST_CANDIDATES]
    alone = [check(claim, [segment], bucket=bucket) for segment in nearest]
    best = min(alone, key=_worst_first, default=Checked([], "unsupported", "words", 0.0))
    if best.stands:
        return best
    together = check(claim, nearest[:2], bucket=bucket)
    if together.stands:
        return together
    return best if ask is None else _settled(said, ranked, best, ask=ask, bucket=bucket)


def _worst_first(checked: Checked) -> tuple[int, float]:
    return _RANK[checked.status], -(checked.support or 0.0)


@lru_cache(maxsize=1_024)
def _words_of(text: str) -> frozenset[str]:
    return frozenset(content_words(text))


def best_segment(claim: str, segments: Sequence[Segment]) -> Segment:
    """The segment that supports *claim* best, the first of equals."""
    said = plain(claim)

    def worth(segment: Segment) -> tuple[int, float]:
        found = _judge(said, segment)
        return -_RANK[found.status], found.evidence.support

    return max(segments, key=worth)


def plain(claim: str) -> str:
    """The sentence without list marks, heading marks, code fences and emphasis.

    >>> plain("2. The **pump** is `red`.")
    'The pump is red.'
    """
    return _MARKUP.sub("", _LEAD.sub("", claim)).strip()


def _about(segment: Segment) -> str:
    hit = segment.hit
    return " ".join((hit.facts.names, *hit.chunk.heading_path, hit.chunk.context))


def _citation(segment: Segment, judged: _Judged, *, bucket: str) -> Citation:
    hit, found = segment.hit, judged.evidence
    return Citation(
        marker=segment.number,
        bucket=bucket,
        hit=hit,
        start=hit.chunk.start + found.start,
        end=hit.chunk.start + found.end,
        quote=hit.chunk.text[found.start : found.end],
        chunk_hash=hashlib.sha256(hit.chunk.text.encode()).hexdigest(),
        support=found.support,
        status=judged.status,
    )
