"""Verify: check an answer that another model wrote against the texts that it was given."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from groundcheck import Checked, OpenClaim, Opinion, Passage, SecondOpinion
from groundcheck.claims import asserts, find_evidence, known_words, pieces
from groundcheck.sentences import units
from ragdrop.domain.deadlines import VERIFY, Deadline
from ragdrop.errors import DependencyError
from ragdrop.generate.markers import UNKNOWN_MARKER, MarkerReader
from ragdrop.ports.model_services import ClaimVerifier

logger = logging.getLogger(__name__)

NOT_VERIFIED = "the verifier did not answer: sentences in other words than their source count as unsupported"
MOST_AT_ONCE = 20  # claims of one call to a chat model


@dataclass(frozen=True, slots=True)
class VerifiedAnswer:
    """Every sentence of an answer, in order; `tokens` counts what a chat model read and wrote to check them."""

    sentences: list[Checked]
    warnings: list[str]
    tokens: tuple[int, int] = (0, 0)


class AskVerifier:
    """A second opinion on the claims of one answer; no call follows one that failed.

    `warnings` reports the failure; `tokens` counts what a chat model read and wrote.
    """

    def __init__(self, verifier: ClaimVerifier, deadline: Deadline) -> None:
        self._verifier = verifier
        self._deadline = deadline
        self._opinions: dict[OpenClaim, Opinion] = {}
        self._noted: list[OpenClaim] | None = None  # claims to ask about later
        self.warnings: list[str] = []
        self.tokens = (0, 0)

    def __call__(self, claim: OpenClaim, *, has_evidence: bool) -> Opinion | None:
        """Judge *claim*; None without an answer, or if the verifier could add nothing to the rules."""
        if has_evidence and not self._verifier.reads_relations:
            return None
        if self._noted is not None:
            self._noted.append(claim)
            return None
        if claim not in self._opinions and not self.warnings:
            self._judge([claim])
        return self._opinions.get(claim)

    def all_at_once(self, check: Callable[[], object]) -> None:
        """Run *check*, which asks this object, and get opinions on all that it leaves open in as few calls as fit."""
        self._noted = []
        check()
        claims, self._noted = list(dict.fromkeys(self._noted)), None
        for start in range(0, len(claims), MOST_AT_ONCE):
            if not self.warnings:
                self._judge(claims[start : start + MOST_AT_ONCE])

    def _judge(self, claims: Sequence[OpenClaim]) -> None:
        try:
            found = self._verifier.judge(claims, VERIFY.of(self._deadline))
        except DependencyError as exc:
            logger.warning("claims could not be verified", extra={"service": exc.service, "code": exc.code})
            self.warnings = [NOT_VERIFIED]
            return
        self._opinions |= dict(zip(claims, found.opinions, strict=True))
        self.tokens = (self.tokens[0] + found.prompt_tokens, self.tokens[1] + found.completion_tokens)


class VerifyAnswer:
    """Check each sentence of a given answer against given sources; *verifier* judges what rules leave open."""

    def __init__(self, verifier: ClaimVerifier | None) -> None:
        self._verifier = verifier

    def __call__(self, answer: str, sources: Sequence[Passage], deadline: Deadline) -> VerifiedAnswer:
        """The status of each sentence of *answer*.

        A marker such as `[2]` names the second of *sources*, whose ids differ, and its sentence must stand there; a
        sentence without one may stand in any.  Spans are code points of *answer* and of the sources' texts.
        """
        split = [pieces(source) for source in sources]
        marked = list(_marked_sentences(answer, [source.text for source in sources]))

        def checked(ask: SecondOpinion | None) -> list[Checked]:
            return [_checked(sentence, split, ask) for sentence in marked]

        if self._verifier is None:
            return VerifiedAnswer(checked(None), [])
        ask = AskVerifier(self._verifier, deadline)
        ask.all_at_once(lambda: checked(ask))
        return VerifiedAnswer(checked(ask), ask.warnings, ask.tokens)


@dataclass(frozen=True, slots=True)
class _Marked:
    """A sentence of an answer with and without its markers, and the numbers of the sources that they name."""

    start: int
    text: str
    said: str
    numbers: tuple[int, ...]
    has_unknown: bool


def _marked_sentences(answer: str, sources: Sequence[str]) -> Iterator[_Marked]:
    """The sentences of *answer* over the texts of *sources*; a marker belongs to the sentence before it.

    >>> [(each.said, each.numbers) for each in _marked_sentences("It is red. [1] It runs.", ["It is a red pump."])]
    [('It is red.', (1,)), ('It runs.', ())]
    """
    names = {str(number): number for number in range(1, len(sources) + 1)}
    reader = MarkerReader("", sources, range(1, len(sources) + 1))
    groups = reader.spans(answer)
    plain = list(answer)
    for start, end in groups:
        plain[start:end] = [letter if letter.isspace() else " " for letter in plain[start:end]]
    text = "".join(plain)
    spans = units(text)
    untils = [*(span.start for span in spans[1:]), len(answer)]
    for span, until in zip(spans, untils, strict=False):
        found = [
            reader.resolve(answer[start:end], lambda name, _: names.get(name))
            for start, end in groups
            if span.start <= start < until
        ]
        end = span.start + len(text[span.start : span.end].rstrip())
        cuts = [span.start, *(cut for group in groups if span.start <= group[0] < end for cut in group), end]
        yield _Marked(
            span.start,
            answer[span.start : end],
            "".join(answer[start:stop] for start, stop in zip(cuts[::2], cuts[1::2], strict=True)),
            tuple(dict.fromkeys(number for numbers, _ in found for number in numbers)),
            any(has_unknown for _, has_unknown in found),
        )


def _checked(sentence: _Marked, split: Sequence[Sequence[Passage]], ask: SecondOpinion | None) -> Checked:
    named = [piece for number in sentence.numbers for piece in split[number - 1]]
    every = [piece for source in split for piece in source]
    if not asserts(sentence.said, lambda: known_words(every)):
        found = Checked(sentence.text, "not_a_claim")
    elif sentence.has_unknown and not named:
        found = Checked(sentence.text, "unsupported", UNKNOWN_MARKER, 0.0)
    else:
        found = find_evidence(sentence.said, named or every, ask)
    comes_near = found.stands or found.reason != "words"
    return replace(found, text=sentence.text, start=sentence.start, evidence=found.evidence if comes_near else ())
