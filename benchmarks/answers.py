"""Answers of SQuAD 2.0 through ask: how often a cited span holds the reference answer, and when ragdrop abstains.

    RAGDROP_EVAL_DATA=… python -m benchmarks.answers [--write] [--questions N]

Every paragraph is a document; real ingest, search, prompt, the laptop's extractive answerer and the citation check, all
settings at their defaults.  The baseline is the text of the best chunk, whatever its relevance, with no check.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks import records
from benchmarks.collections import Collection, CollectionDocument, SquadQuestion, load_squad, needed_data
from benchmarks.embeddings import LocalEmbeddings
from benchmarks.pipeline import Pushed, pushed, soon
from benchmarks.records import Grid, publish
from ragdrop.domain.answers import Question
from ragdrop.domain.retrieval import Query

COLUMNS = ("answers", "hold the reference", "of those given", "abstains", "abstains, unanswerable", "characters")


@dataclass(frozen=True, slots=True)
class AnswerOutcome:
    """What became of one question; `reason` is why there is no answer.

    `holds_reference` is about what stands for an answer; `characters` is how much there is to read for it.
    """

    answerable: bool
    reason: str | None
    holds_reference: bool
    characters: int

    @property
    def abstained(self) -> bool:
        return self.reason is not None


def holds(texts: Sequence[str], references: Sequence[str]) -> bool:
    """Whether one of *texts* holds one of *references*, case and white space folded."""
    folded = [" ".join(text.casefold().split()) for text in texts]
    return any(" ".join(reference.casefold().split()) in text for reference in references for text in folded)


def asked(place: Pushed, question: SquadQuestion) -> AnswerOutcome:
    given = place.app.generate.ask(Question(Query(question.question)), place.caller, soon())
    quotes = [citation.quote for citation in given.citations if citation.status == "verified"]
    holds_reference = holds(quotes, question.answers)
    return AnswerOutcome(bool(question.answers), given.abstain_reason, holds_reference, sum(map(len, quotes)))


def top_chunk(place: Pushed, question: SquadQuestion) -> AnswerOutcome:
    query = Query(question.question, limit=1, min_relevance=0.0, expand="neighbours")
    found = place.app.query.uncached_search(query, place.caller, soon())
    texts = [document.chunks[0].hit.chunk.text for document in found.documents[:1]]
    return AnswerOutcome(
        bool(question.answers),
        None if texts else "no_relevant_context",
        holds(texts, question.answers),
        sum(map(len, texts)),
    )


def row(name: str, outcomes: Sequence[AnswerOutcome]) -> list[str]:
    answerable = [each for each in outcomes if each.answerable]
    other = [each for each in outcomes if not each.answerable]
    given = [each for each in answerable if not each.abstained]
    shares = (
        sum(each.holds_reference for each in answerable) / len(answerable),
        sum(each.holds_reference for each in given) / max(1, len(given)),
        1 - len(given) / len(answerable),
        sum(each.abstained for each in other) / len(other),
    )
    read = sum(each.characters for each in given) / max(1, len(given))
    return [name, *(f"{share:.1%}" for share in shares), f"{read:.0f}"]


def main() -> int:
    parser = records.parser(__doc__)
    parser.add_argument("--questions", type=int, help="only the first N; default: all")
    options = parser.parse_args()
    if options.write and options.questions:
        parser.error("a record is of the whole: --write goes without --questions")
    folder = needed_data("answers")
    questions = load_squad(folder / "squad2")[: options.questions]
    texts = list(dict.fromkeys(question.context for question in questions))
    documents = [CollectionDocument(f"{number:03}", "", text) for number, text in enumerate(texts)]
    collection = Collection("squad2", documents, {each.id: each.question for each in questions}, {}, {})
    with LocalEmbeddings() as model, pushed(collection, model) as place:
        place.answer_locally()
        rows = {
            "ragdrop": [asked(place, question) for question in questions],
            "top chunk, no check": [top_chunk(place, question) for question in questions],
        }
    answerable = sum(bool(question.answers) for question in questions)
    reasons = Counter(each.reason for each in rows["ragdrop"] if each.answerable and each.abstained)
    why = ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items()))
    of = f"{answerable} answerable and {len(questions) - answerable} unanswerable questions, {len(texts)} paragraphs."
    grid = Grid(COLUMNS, [row(*each) for each in rows.items()], f"{of} Abstentions on answerable ones: {why}.")
    publish("answers", [grid], write=options.write)
    return 0


if __name__ == "__main__":
    sys.exit(main())
