"""Citations: every `[n]` of an answer is resolved to a span of the chunk it names, or removed."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from ragdrop.domain.answers import Citation, Segment
from ragdrop.domain.sentences import Span, content_words, sentences

VERBATIM = 1.0
MIN_SUPPORT = 0.6  # share of a sentence's content words that its evidence must hold; refined by the checks of part 5
MAX_WINDOW_SENTENCES = 3

_MARKERS = re.compile(r"\s*(?:\[\d{1,3}(?:\s*,\s*\d{1,3})*\])+")
_NUMBER = re.compile(r"\d{1,3}")
_FOLDS = str.maketrans({"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "\u00a0": " "})


@dataclass(frozen=True, slots=True)
class Evidence:
    """The slice of a chunk's text that supports a sentence best, and how much of the sentence it holds, in [0, 1]."""

    start: int
    end: int
    support: float


def cite(answer: str, segments: Sequence[Segment], *, bucket: str) -> tuple[str, list[Citation]]:
    """Resolve the markers of *answer*.

    Args:
        answer: The model's text with markers such as `[2]` or `[1, 3]`.
        segments: What the model was shown; a marker names a segment by its number.
        bucket: The document bucket, named in every citation.

    Returns:
        The answer without markers that name nothing, and the citations in the order of their sentences.
    """
    by_number = {segment.number: segment for segment in segments}
    text, citations, last = "", [], 0
    for group in _MARKERS.finditer(answer):
        text += answer[last : group.start()]
        last = group.end()
        known = [n for n in dict.fromkeys(map(int, _NUMBER.findall(group.group()))) if n in by_number]
        claim = _last_sentence(text)
        citations += [_citation(number, claim, by_number[number], bucket) for number in known if claim]
        if known:
            text += " " + "".join(f"[{number}]" for number in known)
    return (text + answer[last:]).strip(), citations


def evidence(claim: str, text: str) -> Evidence:
    r"""Where *text* supports *claim* best: verbatim if it stands there, else the window of sentences that shares most.

    >>> evidence("the pump is red", "A tank. The pump\nis red.")
    Evidence(start=8, end=23, support=1.0)
    """
    verbatim = find_folded(claim, text)
    if verbatim is not None:
        return Evidence(verbatim.start, verbatim.end, VERBATIM)
    wanted = set(content_words(claim))
    spans = sentences(text) or [Span(0, len(text))]
    best = Evidence(spans[0].start, spans[0].end, 0.0)
    for first in range(len(spans)):
        held: set[str] = set()
        for last in range(first, min(first + MAX_WINDOW_SENTENCES, len(spans))):
            held |= wanted & set(content_words(text[spans[last].start : spans[last].end]))
            support = round(len(held) / len(wanted), 4) if wanted else 0.0
            if support > best.support:
                best = Evidence(spans[first].start, spans[last].end, support)
    return best


def find_folded(wanted: str, text: str) -> Span | None:
    r"""Where *wanted* stands in *text* if white space, case and typographic quotes are folded; None if nowhere.

    >>> find_folded('He said “no”', 'Then he  said\n"NO".')
    Span(start=5, end=18)
    """
    pieces = [re.escape(piece) for piece in wanted.translate(_FOLDS).split()]
    if not pieces:
        return None
    found = re.search(r"\s+".join(pieces), text.translate(_FOLDS), re.IGNORECASE)
    return Span(found.start(), found.end()) if found else None


def _last_sentence(text: str) -> str:
    """The sentence that a marker at the end of *text* stands for, without the markers before it."""
    after = text
    marks = list(_MARKERS.finditer(text))
    if marks:
        after = text[marks[-1].end() :]
        if not after.strip(" \n.,;:"):  # two groups of markers behind one sentence
            after = text[: marks[-1].start()]
    spans = sentences(after)
    return _MARKERS.sub("", after[spans[-1].start : spans[-1].end]).strip() if spans else ""


def _citation(number: int, claim: str, segment: Segment, bucket: str) -> Citation:
    hit = segment.hit
    found = evidence(claim, hit.chunk.text)
    return Citation(
        marker=number,
        bucket=bucket,
        hit=hit,
        start=hit.chunk.start + found.start,
        end=hit.chunk.start + found.end,
        quote=hit.chunk.text[found.start : found.end],
        chunk_hash=hashlib.sha256(hit.chunk.text.encode()).hexdigest(),
        support=found.support,
        status="verified" if found.support >= MIN_SUPPORT else "unsupported",
    )
