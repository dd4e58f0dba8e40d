"""Verify: check an answer that somebody else's model wrote against the texts that it was given."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from groundcheck.claims import UNKNOWN_MARKER, Checked, SecondOpinion, asserts, known_words, nearest_evidence
from groundcheck.sentences import sentences, units
from ragdrop.domain.answers import CheckedSentence, Segment
from ragdrop.domain.chunks import Chunk, Hit
from ragdrop.domain.deadlines import VERIFY, Deadline
from ragdrop.domain.documents import Facts
from ragdrop.domain.keys import DocumentKey
from ragdrop.errors import DependencyError
from ragdrop.generate.markers import MarkerReader, resolve
from ragdrop.ports.models import ClaimVerifier, OpenClaim, Opinion

logger = logging.getLogger(__name__)

NOT_VERIFIED = "the verifier did not answer: sentences in other words than their source count as unsupported"
MOST_AT_ONCE = 20  # claims of one call to a chat model
PIECE_CHARACTERS = 2_000  # of a source, about what a chunk has: the best pieces are read closely


@dataclass(frozen=True, slots=True)
class GivenSource:
    """A text that an answer may stand on, under the caller's own name for it."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Proof:
    """Where a sentence's evidence stands: `quote` is code points `start` to `end` of the source's text."""

    source: str
    start: int
    end: int
    quote: str


@dataclass(frozen=True, slots=True)
class VerifiedSentence:
    """A sentence of the answer with the passages that decided: none where nothing in the sources comes near it."""

    checked: CheckedSentence
    evidence: tuple[Proof, ...] = ()


@dataclass(frozen=True, slots=True)
class VerifiedAnswer:
    """Every sentence of an answer, in order; `warnings` say what could not be asked.

    `tokens` counts what a chat model read and wrote for it.
    """

    sentences: list[VerifiedSentence]
    warnings: list[str]
    tokens: tuple[int, int] = (0, 0)


class AskVerifier:
    """A verifier for the claims of one answer; after a failure it is not asked again.

    `warning` says so, None as long as it answers; `tokens` counts what a chat model read and wrote for it.
    """

    def __init__(self, verifier: ClaimVerifier, deadline: Deadline) -> None:
        self._verifier = verifier
        self._deadline = deadline
        self._known: dict[OpenClaim, Opinion] = {}
        self.warning: str | None = None
        self.tokens = (0, 0)

    def __call__(self, claim: OpenClaim, *, has_evidence: bool) -> Opinion | None:
        """What it says of *claim*; None where it does not answer, or could say no more than the rules do."""
        if has_evidence and not self._verifier.reads_relations:
            return None
        if claim not in self._known and self.warning is None:
            self._judge([claim])
        return self._known.get(claim)

    def all_at_once(self, check: Callable[[SecondOpinion], object]) -> None:
        """Ask about all that *check* leaves open, a whole answer at a time, before it is run for good."""
        seen = _OpenClaims(self._verifier)
        check(seen)
        claims = list(dict.fromkeys(seen.claims))
        for start in range(0, len(claims), MOST_AT_ONCE):
            if self.warning is None:
                self._judge(claims[start : start + MOST_AT_ONCE])

    def _judge(self, claims: Sequence[OpenClaim]) -> None:
        try:
            found = self._verifier.judge(claims, VERIFY.of(self._deadline))
        except DependencyError as exc:
            logger.warning("claims could not be verified", extra={"service": exc.service, "code": exc.code})
            self.warning = NOT_VERIFIED
            return
        self._known |= dict(zip(claims, found.opinions, strict=True))
        self.tokens = (self.tokens[0] + found.prompt_tokens, self.tokens[1] + found.completion_tokens)


class _OpenClaims:
    """Notes what a verifier would be asked, and says nothing of it."""

    warning: str | None = None
    tokens = (0, 0)

    def __init__(self, verifier: ClaimVerifier) -> None:
        self._verifier = verifier
        self.claims: list[OpenClaim] = []

    def __call__(self, claim: OpenClaim, *, has_evidence: bool) -> Opinion | None:
        """Note *claim*."""
        if not has_evidence or self._verifier.reads_relations:
            self.claims.append(claim)
        return None


class VerifyAnswer:
    """Check each sentence of a given answer against given sources.

    Args:
        verifier: Judges what rules leave open; None leaves it open.
    """

    def __init__(self, verifier: ClaimVerifier | None) -> None:
        self._verifier = verifier

    def __call__(self, answer: str, sources: Sequence[GivenSource], deadline: Deadline) -> VerifiedAnswer:
        """The status of each sentence of *answer*.

        A marker such as `[2]` names the second of *sources*, and its sentence must stand there; a sentence without one
        may stand in any.  Spans are code points of *answer* and of the sources' texts.
        """
        pieces = [_pieces(number, source) for number, source in enumerate(sources, 1)]
        ids = {number: source.id for number, source in enumerate(sources, 1)}

        sentences_of = marked_sentences(answer, [source.text for source in sources])

        def checked(ask: SecondOpinion | None) -> list[VerifiedSentence]:
            return [_verified(sentence, pieces, ids, ask) for sentence in sentences_of]

        if self._verifier is None:
            return VerifiedAnswer(checked(None), [])
        ask = AskVerifier(self._verifier, deadline)
        ask.all_at_once(checked)
        return VerifiedAnswer(checked(ask), [ask.warning] if ask.warning else [], ask.tokens)


@dataclass(frozen=True, slots=True)
class MarkedSentence:
    """A sentence of an answer, and the sources that its markers name; `has_unknown` if one names nothing.

    `said` is its text without the markers.
    """

    start: int
    end: int
    text: str
    numbers: tuple[int, ...]
    has_unknown: bool
    said: str


def marked_sentences(answer: str, sources: Sequence[str]) -> list[MarkedSentence]:
    """The sentences of *answer* over the texts of *sources*; a marker belongs to the sentence before it.

    A bracket that stands in a source behind the same word is text.

    >>> marked_sentences("It is red. [1] It runs.", ["It is a red pump."])[0]
    MarkedSentence(start=0, end=10, text='It is red.', numbers=(1,), has_unknown=False, said='It is red.')
    >>> marked_sentences("Take colours[1].", ["Take colours[1]."])[0].numbers
    ()
    """
    groups = MarkerReader("", sources, range(1, len(sources) + 1)).spans(answer)
    plain = list(answer)
    for start, end in groups:
        for place in range(start, end):
            plain[place] = plain[place] if plain[place].isspace() else " "
    text = "".join(plain)
    spans = units(text)
    numbered = [_segment(number, GivenSource("", ""), 0, 0) for number in range(1, len(sources) + 1)]
    found = []
    for place, span in enumerate(spans):
        until = spans[place + 1].start if place + 1 < len(spans) else len(answer)
        mine = [resolve(answer[start:end], numbered) for start, end in groups if span.start <= start < until]
        numbers = tuple(dict.fromkeys(number for each in mine for number in each.numbers))
        end = span.start + len(text[span.start : span.end].rstrip())
        has_unknown = any(each.has_unknown for each in mine)
        cuts = [span.start, *(cut for group in groups if span.start <= group[0] < end for cut in group), end]
        said = "".join(answer[start:stop] for start, stop in zip(cuts[::2], cuts[1::2], strict=True))
        found.append(MarkedSentence(span.start, end, answer[span.start : end], numbers, has_unknown, said))
    return found


def _verified(
    sentence: MarkedSentence, pieces: Sequence[Sequence[Segment]], ids: dict[int, str], ask: SecondOpinion | None
) -> VerifiedSentence:
    said = sentence.said
    named = [segment for number in sentence.numbers for segment in pieces[number - 1]]
    every = [segment for held in pieces for segment in held]
    if not asserts(said, lambda: known_words(every)):
        return VerifiedSentence(_told(sentence, Checked([], "not_a_claim", None, None)))
    if sentence.has_unknown and not named:
        return VerifiedSentence(_told(sentence, Checked([], "unsupported", UNKNOWN_MARKER, 0.0)))
    checked = nearest_evidence(said, named or every, bucket="", ask=ask)
    shown = [] if checked.reason == "words" and not checked.stands else checked.citations
    proofs = tuple(Proof(ids[each.marker], each.start, each.end, each.quote) for each in shown)
    return VerifiedSentence(_told(sentence, checked), proofs)


def _told(sentence: MarkedSentence, checked: Checked) -> CheckedSentence:
    attributed = checked.stands and not sentence.numbers
    return CheckedSentence(
        sentence.start,
        sentence.end,
        sentence.text,
        checked.status,
        sentence.numbers,
        checked.reason,
        checked.support,
        attributed,
    )


def _pieces(number: int, source: GivenSource) -> list[Segment]:
    """A source in pieces of whole sentences; a sentence that is longer is a piece of its own."""
    spans = sentences(source.text)
    starts = [0]
    for span in spans:
        if span.end - starts[-1] > PIECE_CHARACTERS and span.start > starts[-1]:
            starts.append(span.start)
    ends = [*starts[1:], len(source.text)]
    return [_segment(number, source, start, end) for start, end in zip(starts, ends, strict=True)]


def _segment(number: int, source: GivenSource, start: int, end: int) -> Segment:
    chunk = Chunk(0, start, end, source.text[start:end])
    facts = Facts(title="", version_id="", indexed_at="")
    return Segment(number, Hit(DocumentKey("", "", str(number)), 1, chunk, facts))
