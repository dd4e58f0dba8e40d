"""What `ragdrop eval` makes of the answers: a place a question, and the measures over all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from ragdrop.operate.evaluation import hit, mean, ndcg, recall, reciprocal_rank
from ragdrop_cli.eval_questions import EvalQuestion

TOP = 3  # where the gate wants what is expected


@dataclass(frozen=True, slots=True)
class SearchOutcome:
    """What one search found.

    `place` is that of the first expected document, `text_place` of the first document that shows the expected text,
    both from 1; None where it did not come, or was not asked for.  The shares are in [0, 1].  `answer` is None
    unless one was asked for; `cited` are its documents.
    """

    id: str
    question: str
    answerable: bool
    found: list[str]
    place: int | None
    text_place: int | None
    in_top: bool
    abstained: bool
    recall: float
    reciprocal_rank: float
    ndcg: float
    answer: str | None = None
    cited: tuple[str, ...] = ()


def outcome(question: EvalQuestion, reply: Mapping[str, Any], *, limit: int) -> SearchOutcome:
    """Judge the reply of `POST /search`; critical documents count where their own score puts them."""
    shown = sorted(
        [*(reply.get("results") or []), *(reply.get("critical") or [])], key=lambda one: -float(one.get("score") or 0)
    )
    found = list(dict.fromkeys(_expected_name(question, document) for document in shown))
    text_place = next((n for n, one in enumerate(shown, start=1) if _shows(one, question.expected_text)), None)
    place = next((n for n, name in enumerate(found, start=1) if name in question.documents), None)
    decisive = text_place if question.expected_text else place
    return SearchOutcome(
        id=question.id,
        question=question.text,
        answerable=question.answerable,
        found=found,
        place=place,
        text_place=text_place,
        in_top=decisive is not None and decisive <= TOP,
        abstained=bool(reply.get("abstained")),
        recall=recall(found, question.documents, at=limit),
        reciprocal_rank=reciprocal_rank(found, question.documents),
        ndcg=ndcg(found, question.documents, at=limit),
    )


def measures(outcomes: Sequence[SearchOutcome], questions: Sequence[EvalQuestion]) -> dict[str, float | int | None]:
    """The means over all questions; None where there is none of the kind that a measure is over."""
    pairs = list(zip(outcomes, questions, strict=True))
    placed = [(one, asked) for one, asked in pairs if asked.documents]
    expecting = [one for one, asked in pairs if asked.answerable]
    unanswerable = [one for one, asked in pairs if not asked.answerable]
    return {
        "questions": len(pairs),
        "answerable": len(expecting),
        "expected_in_top_3": _share([one.in_top for one in expecting]),
        "hit_rate_at_1": _mean([hit(one.found, asked.documents, at=1) for one, asked in placed]),
        "hit_rate_at_3": _mean([hit(one.found, asked.documents, at=TOP) for one, asked in placed]),
        "recall": _mean([one.recall for one, _ in placed]),
        "mrr": _mean([one.reciprocal_rank for one, _ in placed]),
        "ndcg": _mean([one.ndcg for one, _ in placed]),
        "abstained_rightly": _share([one.abstained for one in unanswerable]),
        "abstained_wrongly": _share([one.abstained for one in expecting]),
    }


def changes(before: Sequence[Mapping[str, Any]], after: Sequence[SearchOutcome]) -> list[tuple[str, str, str, str]]:
    """The questions that changed, worse ones first: what happened, question, place before, place now.

    Where both runs have answers, one that has another text or cites other documents is a change too: `answer`,
    question, the answer before, the answer now.

    Args:
        before: The `questions` of a saved run.
        after: The outcomes of this one.
    """
    known = {str(one.get("question")): one for one in before}
    told = []
    for one in after:
        old = known.pop(one.question, None)
        now = asdict(one)
        if old is None:
            told.append(("new", one.question, "-", standing(now)))
        elif standing(old) != standing(now):
            told.append(
                ("worse" if _worth(now) < _worth(old) else "better", one.question, standing(old), standing(now))
            )
        if old is not None and None not in {old.get("answer"), one.answer} and _told(old) != _told(now):
            told.append(("answer", one.question, _told(old), _told(now)))
    told += [("gone", name, standing(old), "-") for name, old in known.items()]
    return sorted(told, key=lambda change: ("worse", "better", "answer", "new", "gone").index(change[0]))


def answered(found: SearchOutcome, reply: Mapping[str, Any]) -> SearchOutcome:
    """The outcome with the reply of `POST /ask`."""
    cited = dict.fromkeys(str(each["key"]).partition("/")[2] for each in reply.get("citations") or [])
    return replace(found, answer=str(reply.get("answer")), cited=tuple(cited))


def standing(one: Mapping[str, Any]) -> str:
    """The place of what was expected, in words.

    >>> standing({"answerable": True, "place": 2}), standing({"answerable": False, "abstained": True})
    ('place 2', 'abstained')
    """
    if one.get("abstained"):
        return "abstained"
    if not one.get("answerable"):
        return "answered"
    place = one.get("text_place") or one.get("place")
    return f"place {place}" if place else "not found"


def _told(one: Mapping[str, Any]) -> str:
    return f"{one['answer']} [{', '.join(one['cited'])}]"


def _worth(one: Mapping[str, Any]) -> float:
    if not one.get("answerable"):
        return 1.0 if one.get("abstained") else 0.0
    place = one.get("text_place") or one.get("place")
    return 1.0 / place if place and not one.get("abstained") else 0.0


def _expected_name(question: EvalQuestion, document: Mapping[str, Any]) -> str:
    """`vault/path`, or the path alone where the question names it so."""
    path = str(document.get("path"))
    return path if path in question.documents else f"{document.get('vault')}/{path}"


def _shows(document: Mapping[str, Any], expected: str | None) -> bool:
    if not expected:
        return False
    texts = [document.get("text"), *(chunk.get("text") for chunk in document.get("chunks") or [])]
    return any(_folded(expected) in _folded(str(text)) for text in texts if text)


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


def _share(values: Sequence[bool]) -> float | None:
    return _mean([float(value) for value in values])


def _mean(values: Sequence[float]) -> float | None:
    return round(mean(values), 4) if values else None
