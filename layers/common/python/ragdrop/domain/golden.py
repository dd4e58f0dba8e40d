"""Golden questions of a vault, and what came of asking them: the runs of a tenant."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

SHOWN_CHARACTERS = 200  # of a question and of what it expects, as a run is stored


@dataclass(frozen=True, slots=True)
class GoldenQuestion:
    """A question, and the text that one of the first documents must show, or the document that must be among them."""

    question: str
    document: str = ""
    text: str = ""

    @property
    def expected(self) -> str:
        """What it expects: the text, where there is none the document."""
        return self.text or self.document


def golden_questions(settings: Mapping[str, Any]) -> tuple[GoldenQuestion, ...]:
    """The golden questions that a vault's settings name.

    >>> golden_questions({"golden_questions": [{"question": "Who?", "document": "a.md"}]})[0].expected
    'a.md'
    """
    return tuple(GoldenQuestion(**each) for each in settings.get("golden_questions") or ())


@dataclass(frozen=True, slots=True)
class GoldenOutcome:
    """One golden question of a run; its texts are shortened.

    `answered` is None while it could not be asked.  `dropped` says that it is not answered and once was.
    """

    question: str
    expected: str
    answered: bool | None
    dropped: bool = False


@dataclass(frozen=True, slots=True)
class GoldenRun:
    """The golden questions of a vault, as they were asked last.

    `measured_at_s` (seconds since 1970) and `measured_with` are of the last run that could ask all of them.
    `measured_with` names the release, the index, the model and the settings file.
    `not_measured` is the code of what was in the way of this run.
    """

    vault: str
    outcomes: tuple[GoldenOutcome, ...] = ()
    measured_at_s: float | None = None
    measured_with: Mapping[str, str] = field(default_factory=dict)
    not_measured: str | None = None

    @property
    def answered(self) -> int:
        """How many questions are answered."""
        return sum(each.answered is True for each in self.outcomes)

    @property
    def dropped(self) -> list[GoldenOutcome]:
        """The questions that are not answered and once were."""
        return [each for each in self.outcomes if each.dropped]


def outcomes_of(
    questions: Sequence[GoldenQuestion], answered: Sequence[bool | None], before: GoldenRun | None
) -> tuple[GoldenOutcome, ...]:
    """Compare a run with the run before it; a question that could not be asked keeps its outcome.

    >>> one = GoldenQuestion("Who?", "a.md")
    >>> fine = GoldenRun("team", outcomes_of([one], [True], None))
    >>> lost = GoldenRun("team", outcomes_of([one], [False], fine))
    >>> [each.dropped for run in (fine, lost) for each in run.outcomes]
    [False, True]
    >>> outcomes_of([one], [False], lost)[0].dropped, outcomes_of([one], [None], fine)[0].answered
    (True, True)
    """
    known = {(each.question, each.expected): each for each in before.outcomes} if before is not None else {}
    found = []
    for golden, is_answered in zip(questions, answered, strict=True):
        place = golden.question[:SHOWN_CHARACTERS], golden.expected[:SHOWN_CHARACTERS]
        old = known.get(place, GoldenOutcome(*place, None))
        dropped = is_answered is False and (old.answered is True or old.dropped)
        found.append(old if is_answered is None else GoldenOutcome(*place, is_answered, dropped))
    return tuple(found)
