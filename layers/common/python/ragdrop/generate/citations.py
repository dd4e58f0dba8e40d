"""Citations: check every sentence of a streamed answer and release its markers after the check."""

import functools
import hashlib
import logging
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from groundcheck import STANDING, Checked, OpenClaim, Opinion, Passage
from groundcheck.claims import asserts, best_passage, check_cited, find_evidence, known_words, lacks_sources
from groundcheck.sentences import Span, units
from ragdrop.domain.answers import CheckedSentence, Citation, Segment
from ragdrop.domain.chunks import Hit
from ragdrop.domain.deadlines import VERIFY, Deadline
from ragdrop.domain.retrieval import AbstainReason
from ragdrop.errors import DependencyError
from ragdrop.generate.abstentions import SentinelFilter
from ragdrop.generate.markers import MAY_BE_LINK, UNKNOWN_MARKER, MarkerReader, in_code, marks_gap
from ragdrop.ports.answer_services import ClaimVerifier

logger = logging.getLogger(__name__)

NOT_VERIFIED = "the verifier did not answer: sentences in other words than their source count as unsupported"
MOST_AT_ONCE = 20  # claims of one call to a chat model


class AskVerifier:
    """A second opinion on the claims of one answer; no call follows one that failed.

    `warnings` reports the failure.
    """

    def __init__(self, verifier: ClaimVerifier, deadline: Deadline) -> None:
        self.decides = verifier.decides
        self._verifier = verifier
        self._deadline = deadline
        self._opinions: dict[OpenClaim, Opinion] = {}
        self._noted: list[OpenClaim] | None = None  # claims to ask about later
        self.warnings: list[str] = []

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
        self._opinions |= dict(zip(claims, found, strict=True))


CitationPolicy = Literal["mark", "drop", "abstain"]

Released = str | Citation | CheckedSentence
"""What may leave: a piece of text, a checked citation, or the status of a sentence."""


@dataclass(frozen=True, slots=True)
class CitedAnswer:
    """A whole answer after its checks; `reason` is why it abstains, None if it answers."""

    text: str
    citations: list[Citation]
    claims: list[CheckedSentence]
    reason: AbstainReason | None = None

    @property
    def unsupported(self) -> list[CheckedSentence]:
        """The claims that their sources contradict or do not support; spans are of `text`."""
        return [claim for claim in self.claims if claim.status in {"unsupported", "contradicted"}]


class AnswerReader:
    """Read one answer piece by piece.

    With `mark` text passes at once, but for what may become a marker; with `drop` and `abstain` text waits until it is
    checked, at the next marker or at the end.  A sentinel never passes.

    A sentence without a marker is checked like any other: all segments are searched for its evidence.  Evidence makes a
    citation with `attributed`, and the text stays unchanged.  Markers count from 1 in the order of the text, whatever
    numbers the prompt gave to its segments.  A sentence that says what the sources do not say is `missing`, if it is
    marked `[missing]` or names them; an answer of such sentences alone abstains.

    A bracket that stands in *question* or in a segment behind the same word is text, and stays unchanged.

    Args:
        segments: What the model was shown; a marker names a segment by its number.
        bucket: The document bucket, named in every citation.
        policy: What happens to a sentence that its sources do not support: it stays (`mark`), it is removed (`drop`),
            or the whole answer is (`abstain`).
        ask: A second opinion on what the rules leave open.
        prefix: Stands before the numbers of segments in the prompt, so that no document has its markers.
        untrusted: Vaults where strangers write: a sentence that they alone support is marked.
    """

    def __init__(
        self,
        segments: Sequence[Segment],
        *,
        bucket: str,
        policy: CitationPolicy = "mark",
        ask: AskVerifier | None = None,
        prefix: str = "",
        question: str = "",
        untrusted: Collection[str] = (),
    ) -> None:
        self._ask = ask
        self._untrusted = untrusted
        self._by_number = {segment.number: segment for segment in segments}
        self._passages = {segment.number: passage_of(segment) for segment in segments}
        shown = [question, *(text for segment in segments for text in _shown(segment))]
        self._texts = shown
        self._markers = MarkerReader(prefix, shown, self._by_number)
        self._marker_of: dict[int, int] = {}  # number of a segment -> its number in the answer
        self._bucket = bucket
        self._policy = policy
        self._raw = ""
        self._text = ""  # read so far, without what was removed
        self._left = 0  # how much of it has been released
        self._since = 0  # where the text behind the last marker begins
        self._sentinels = SentinelFilter()
        self._claims: list[CheckedSentence] = []
        self._citations: list[Citation] = []
        self._refused = False
        self._after_drop = False
        self._has_code = False

    def feed(self, piece: str) -> list[Released]:
        """Read the next piece; return what may leave now, in order."""
        self._raw += self._sentinels.feed(piece)
        self._raw = self._raw if self._text else self._raw.lstrip()
        return self._read(last=False)

    def finish(self) -> list[Released]:
        """Read to the end; return what was left."""
        self._raw += self._sentinels.end()
        self._raw = self._raw if self._text else self._raw.lstrip()
        released = self._read(last=True)
        self._text = self._text.rstrip()
        return released

    @property
    def warnings(self) -> list[str]:
        """Failures of the second opinion."""
        return self._ask.warnings if self._ask is not None else []

    def read(self, answer: str) -> CitedAnswer:
        """Read a whole *answer*."""
        self.feed(answer)
        self.finish()
        return self.answer

    @property
    def answer(self) -> CitedAnswer:
        """The answer; whole after `finish`."""
        stand = any(claim.status in STANDING for claim in self._claims)
        reason = None if stand else self._sentinels.reason
        is_empty = not any(map(str.isalnum, self._text))
        is_gap = {claim.status for claim in self._claims} - {"not_a_claim"} == {"missing"}
        if self._refused or (reason is None and (is_empty or is_gap)):
            reason = "insufficient_information"
        if self._refused:
            return CitedAnswer("", [], self._claims, reason)
        return CitedAnswer(self._text, self._citations, self._claims, reason)

    def _read(self, *, last: bool) -> list[Released]:
        if not last and not self._refused and "[" not in self._raw and "(" not in self._raw:
            return self._pass(len(self._raw.rstrip()), at_once=self._policy == "mark")
        released: list[Released] = []
        while not self._refused:
            group = self._markers.group.search(self._raw)
            rest = self._raw[group.end() :] if group else ""
            if group is None or (not last and (self._markers.pending(rest) == 0 or MAY_BE_LINK.match(rest))):
                break  # it may go on
            self._add(self._raw[: group.start()])
            end, is_text = self._markers.first(group[0], self._before)
            if is_text or (self._has_code and in_code(self._text)):
                self._add(group[0][:end])
            else:
                released += self._marker(group[0][:end])
            self._raw = group[0][end:] + rest
        if not self._refused:
            cut = len(self._raw) if last else self._safe()
            released += self._pass(cut, at_once=self._policy == "mark")
        if last and not self._refused:
            settled, _ = self._settle(len(self._text))
            released += [] if self._refused else [*self._release(), *settled]
        return released

    @property
    def _before(self) -> str:
        """The text read so far, without the markers at its end."""
        is_behind_marker = self._claims and not self._text[self._since :].strip()
        return self._text[: self._claims[-1].end] if is_behind_marker else self._text

    def _pass(self, cut: int, *, at_once: bool) -> list[Released]:
        """Read what begins no marker, up to *cut*, and release it if it may leave *at_once*."""
        self._add(self._raw[:cut])
        self._raw = self._raw[cut:]
        return self._release() if at_once else []

    def _add(self, piece: str) -> None:
        if self._after_drop and piece:  # the full stop of a sentence that was dropped
            piece = piece.lstrip(".,;:!?" if self._text else ".,;:!? \n")
            self._after_drop = not piece
        self._has_code = self._has_code or "`" in piece
        self._text += piece

    def _safe(self) -> int:
        group = self._markers.group.search(self._raw)
        return group.start() if group else self._markers.pending(self._raw)

    def _marker(self, group: str) -> list[Released]:
        span = self._claim_span()
        if span is None:
            return []
        is_new = span.start >= self._since
        settled, removed = self._settle(span.start if is_new else len(self._text))
        if self._refused:
            return []
        span = Span(span.start - removed, span.end - removed) if is_new else span
        said = self._text[span.start : span.end]
        numbers, _ = self._markers.resolve(group, functools.partial(self._named, said))
        if not numbers and marks_gap(group):
            if not self._lacks_sources(said, marked=True):
                return settled  # it is checked like a sentence without a marker
            claim = CheckedSentence(span.start, span.end, said, "missing")
            self._claims.append(claim)
            self._since = len(self._text)
            return [*self._release(), *settled, claim]
        checked = check_cited(said, [self._passages[number] for number in numbers], self._ask)
        if not numbers:
            checked = replace(checked, status="unsupported", reason=UNKNOWN_MARKER)
        if not checked.stands and self._policy == "drop" and span.start < self._left:
            return settled  # its sentence was checked and released by a marker before: this marker alone goes
        if not checked.stands and self._policy == "drop":
            self._text = self._text[: span.start].rstrip(" ")
            self._since = len(self._text)
            self._after_drop = True
            return [*self._release(), *settled]
        claim = self._claim(span, checked, segments=numbers)
        self._claims.append(claim)
        if not checked.stands and self._policy == "abstain":
            self._refused = True
            return []
        if numbers:
            self._text += " " + "".join(f"[{self._marker_of[number]}]" for number in numbers)
        self._since = len(self._text)
        citations = self._cited(checked)
        return [*self._release(), *settled, *citations, claim]

    def _named(self, said: str, name: str, section: str) -> int | None:
        """The segment of a file name, of its section if one has it, that supports *said* best."""
        of_file = [segment for segment in self._by_number.values() if name in _names(segment)]
        of_section = [each for each in of_file if section in map(str.casefold, each.hit.chunk.heading_path)]
        passages = [self._passages[each.number] for each in (of_section if section and of_section else of_file)]
        return best_passage(said, passages).id if passages else None

    def _claim_span(self) -> Span | None:
        """The sentence that ends here; that of the marker before if nothing stands between."""
        spans = units(self._text[self._since :])
        if spans and any(letter.isalnum() for letter in self._text[self._since + spans[-1].start :]):
            return Span(self._since + spans[-1].start, self._since + spans[-1].end)
        return Span(self._claims[-1].start, self._claims[-1].end) if self._claims else None

    def _settle(self, end: int) -> tuple[list[Released], int]:
        """Check the sentences up to *end* that no marker follows.

        Returns:
            Their citations and statuses, and how many characters of the text were dropped.
        """
        settled: list[Released] = []
        place, removed = self._since, 0
        for unit in units(self._text[place:end]):
            span = Span(place + unit.start - removed, place + unit.end - removed)
            said = self._text[span.start : span.end]
            if not asserts(said, lambda: self._known_words):
                if any(letter.isalnum() for letter in said):
                    settled.append(CheckedSentence(span.start, span.end, said, "not_a_claim"))
                continue
            checked = find_evidence(said, list(self._passages.values()), self._ask)
            if not checked.stands and self._lacks_sources(said):
                settled.append(CheckedSentence(span.start, span.end, said, "missing"))
                continue
            if not checked.stands:
                if self._policy == "drop":
                    removed += self._remove(span)
                    continue
                checked = replace(checked, evidence=())
            numbers = tuple(each.passage.id for each in checked.evidence)
            claim = self._claim(span, checked, segments=numbers, attributed=True)
            settled += [*self._cited(checked, attributed=True), claim]
            self._refused = self._refused or (not checked.stands and self._policy == "abstain")
        self._since = end - removed  # settled once
        self._claims += [each for each in settled if isinstance(each, CheckedSentence)]
        return settled, removed

    def _remove(self, span: Span) -> int:
        """Cut a sentence and the white space behind it out of the text; return how many characters that were."""
        behind = self._text[span.end :].lstrip()
        before = self._text[: span.start] if behind else self._text[: span.start].rstrip()
        cut = len(self._text) - len(before) - len(behind)
        self._text = before + behind
        return cut

    def _claim(
        self, span: Span, checked: Checked, *, segments: Sequence[int], attributed: bool = False
    ) -> CheckedSentence:
        """The result of a check, with markers as the answer numbers them."""
        for number in segments:
            self._marker_of.setdefault(number, len(self._marker_of) + 1)
        return CheckedSentence(
            span.start,
            span.end,
            self._text[span.start : span.end],
            checked.status,
            tuple(self._marker_of[number] for number in segments),
            checked.reason,
            checked.support,
            attributed and checked.stands,
            checked.stands and from_untrusted((self._by_number[each].hit for each in segments), self._untrusted),
        )

    def _cited(self, checked: Checked, *, attributed: bool = False) -> list[Citation]:
        """Note and return the citations of a claim, numbered as the answer numbers them."""
        found = [
            Citation(
                marker=self._marker_of[each.passage.id],
                bucket=self._bucket,
                hit=self._by_number[each.passage.id].hit,
                start=each.start,
                end=each.end,
                quote=each.quote,
                chunk_hash=hashlib.sha256(each.passage.text.encode()).hexdigest(),
                support=each.support,
                status=each.status,
                attributed=attributed,
            )
            for each in checked.evidence
        ]
        self._citations += found
        return found

    @functools.cached_property
    def _known_words(self) -> frozenset[str]:
        return known_words(list(self._passages.values()))

    def _lacks_sources(self, said: str, *, marked: bool = False) -> bool:
        return lacks_sources(said, lambda: "\n".join(self._texts), marked=marked)

    def _release(self) -> list[Released]:
        piece = self._text[self._left :]
        self._left = len(self._text)
        return [piece] if piece else []


def from_untrusted(hits: Iterable[Hit], vaults: Collection[str]) -> bool:
    """Whether there are *hits*, and all of them are of *vaults*."""
    found = [hit.key.vault in vaults for hit in hits]
    return bool(found) and all(found)


def passage_of(segment: Segment) -> Passage:
    """*segment* for the check; spans count from the start of its document."""
    hit = segment.hit
    about = " ".join((hit.facts.names, *hit.chunk.heading_path, hit.chunk.context))
    return Passage(hit.chunk.text, about, segment.number, hit.chunk.start)


def _shown(segment: Segment) -> tuple[str, ...]:
    """The texts of *segment* that the model was shown."""
    hit = segment.hit
    return (hit.chunk.in_context, *hit.chunk.heading_path, hit.facts.title)


def _names(segment: Segment) -> set[str]:
    """The names of the document of *segment* that a marker may use, in small letters."""
    key = segment.hit.key
    names = (key.path, key.vault_path, key.s3_key, key.path.rpartition("/")[2], segment.hit.facts.title)
    return {name.casefold() for name in names}
