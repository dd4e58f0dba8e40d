"""Verify answers that others wrote: by their texts, and their numbers by the tables in them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from groundcheck import Checked, ClaimStatus, Evidence, Passage, SecondOpinion
from groundcheck.claims import asserts, find_evidence, known_words, lacks_sources, pieces
from groundcheck.sentences import units
from ragdrop.domain.answers import AnswersQuestion, TableProof
from ragdrop.domain.deadlines import Deadline
from ragdrop.generate.answering import ReadQuestion
from ragdrop.generate.ask_tables import MAX_CITATIONS, MAX_QUOTE_ROWS, proof_of
from ragdrop.generate.citations import AskVerifier
from ragdrop.generate.markers import UNKNOWN_MARKER, MarkerReader
from ragdrop.ports.answer_services import ClaimVerifier
from ragdrop.tables.check_numbers import check_number
from ragdrop.tables.text_tables import tables_in_text


@dataclass(frozen=True, slots=True)
class VerifiedAnswer:
    """Every sentence of an answer, in order.

    `answers` says whether it answers its question, None where none was given.  `computed` is how the number of a
    sentence was computed from a table, by the place of the sentence in `sentences`.
    """

    sentences: list[Checked]
    warnings: list[str]
    answers: AnswersQuestion | None = None
    computed: dict[int, TableProof] = field(default_factory=dict)


class VerifyAnswer:
    """Check each sentence of a given answer against given sources, and whether it answers.

    *verifier* judges sentences that rules leave open, *read* reads the answer against its question.
    """

    def __init__(self, verifier: ClaimVerifier | None, read: ReadQuestion | None = None) -> None:
        self._verifier = verifier
        self._read = read or ReadQuestion(None)

    def __call__(
        self, answer: str, sources: Sequence[Passage], deadline: Deadline, *, question: str | None = None
    ) -> VerifiedAnswer:
        """The status of each sentence of *answer*, and whether it answers *question*, where one is given.

        A marker such as `[2]` names the second of *sources*, whose ids differ, and its sentence must stand there; a
        sentence without one may stand in any.  Spans are code points of *answer* and of the sources' texts.
        """
        split = [pieces(source) for source in sources]
        marked = list(_marked_sentences(answer, [source.text for source in sources]))

        def checked(ask: SecondOpinion | None) -> list[Checked]:
            return [_checked(sentence, split, ask) for sentence in marked]

        said = " ".join(sentence.said.strip() for sentence in marked)
        answers = self._read.verdict(question, said, deadline) if question else None
        ask = AskVerifier(self._verifier, deadline) if self._verifier is not None else None
        if ask is not None:
            ask.all_at_once(lambda: checked(ask))
        found, computed = _by_tables(checked(ask), marked, sources)
        return VerifiedAnswer(found, ask.warnings if ask is not None else [], answers, computed)


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
    if found.status == "unsupported" and lacks_sources(sentence.said, lambda: "\n".join(each.text for each in every)):
        found = Checked(sentence.text, "missing")
    comes_near = found.stands or found.reason != "words"
    return replace(found, text=sentence.text, start=sentence.start, evidence=found.evidence if comes_near else ())


def _by_tables(
    checked: Sequence[Checked], marked: Sequence[_Marked], sources: Sequence[Passage]
) -> tuple[list[Checked], dict[int, TableProof]]:
    """The sentences, those whose number tables give or give otherwise with that status, and how it was computed."""
    tables = [tables_in_text(source.text, str(source.id)) for source in sources]
    found, computed = list(checked), dict[int, TableProof]()
    for place, (each, sentence) in enumerate(zip(checked, marked, strict=True)):
        numbers = sentence.numbers or (() if sentence.has_unknown else range(1, len(sources) + 1))
        own = [(table, sources[number - 1]) for number in numbers for table in tables[number - 1]]
        if not own or each.status in {"verified", "not_a_claim", "missing"}:
            continue
        number = check_number(sentence.said, [table for table, _ in own])
        if number is None or number.computed.table is None:
            continue
        source = next(source for table, source in own if table is number.computed.table)
        spans = number.computed.table.runs(sorted(set(number.computed.used)), most=MAX_QUOTE_ROWS)
        status: ClaimStatus = "supported" if number.agrees else "contradicted"
        reason = None if number.agrees else "number"
        evidence = tuple(
            Evidence(source, source.start + start, source.start + end, 1.0, status, reason)
            for start, end in islice(spans, MAX_CITATIONS)
        )
        found[place] = replace(each, status=status, reason=reason, support=1.0, evidence=evidence)
        computed[place] = proof_of(number.computed)
    return found, computed
