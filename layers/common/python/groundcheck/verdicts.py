"""What a check takes and returns: passages, statuses, evidence, and the questions for a second opinion."""

from dataclasses import dataclass
from typing import Any, Literal, Protocol

ClaimStatus = Literal["verified", "supported", "contradicted", "unsupported", "missing", "not_a_claim"]
"""Of a sentence: its evidence states it; there is evidence, but whether it says just this is not certain; the evidence
says otherwise; there is none; it says that the sources do not say something; nothing is claimed."""
STANDING: frozenset[ClaimStatus] = frozenset({"verified", "supported"})
"""The statuses of sentences that have evidence."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A text that may support a sentence.

    `about` is what the text belongs to, such as a title and headings: names may stand there too.  `id` is the caller's;
    passages of one id are one source.  `start` is where the text begins in its document: spans count from there.
    """

    text: str
    about: str = ""
    id: Any = None
    start: int = 0


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one passage says of a sentence: code points `start` to `end` of its document decide.

    `support` is the share of the sentence's content words found there, in [0, 1].
    """

    passage: Passage
    start: int
    end: int
    support: float
    status: ClaimStatus
    reason: str | None = None

    @property
    def quote(self) -> str:
        """The text that decides."""
        return self.passage.text[self.start - self.passage.start : self.end - self.passage.start]


@dataclass(frozen=True, slots=True)
class Checked:
    """What the check of one sentence found.

    `reason` is what does not stand in the evidence (`words, number, date, name, negation, quote`), which relation
    differs or is not certain (`cause, order, comparison, roles, condition, attribution, modality, quantifier`), or why
    nothing more is certain (`several` passages, `meaning`, `language`); None where the sentence is verified.  `support`
    is the best of its evidence, None for a sentence that claims nothing.  `start` is where `text` begins in the answer.
    """

    text: str
    status: ClaimStatus
    reason: str | None = None
    support: float | None = None
    evidence: tuple[Evidence, ...] = ()
    start: int = 0

    @property
    def end(self) -> int:
        """Where the sentence ends in the answer."""
        return self.start + len(self.text)

    @property
    def stands(self) -> bool:
        """Whether there is evidence for the sentence."""
        return self.status in STANDING


@dataclass(frozen=True, slots=True)
class OpenClaim:
    """A sentence that rules leave open, and what may be its evidence.

    Args:
        text: The sentence.
        passages: Sentences with all its numbers, dates and names that do not deny it; empty for who decides.
        texts: What was compared with it.
        status, reason, support: What rules say of it.
    """

    text: str
    passages: tuple[str, ...]
    texts: tuple[str, ...] = ()
    status: ClaimStatus = "unsupported"
    reason: str | None = "words"
    support: float = 0.0


@dataclass(frozen=True, slots=True)
class Opinion:
    """A judgement of an open claim; `passage` is the index of what decides, None if nothing does.

    It is an index of the claim's `passages`, or of its `texts` from one who decides.
    """

    status: ClaimStatus
    passage: int | None = None


class SecondOpinion(Protocol):
    """Judges what rules leave open, for example by a language model.

    One with a true attribute `decides` is asked about all but copies of a sentence, and its status counts.
    """

    def __call__(self, claim: OpenClaim, *, has_evidence: bool) -> Opinion | None:
        """Judge *claim*; None for no opinion.  *has_evidence*: rules found evidence that may not state it."""
        ...
