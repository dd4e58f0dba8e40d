"""Fit the weights of `ragdrop.tables.reading_evidence` to the questions over tables, and judge them on sets left out.

    python -m benchmarks.table_evidence [--penalty 5] [--wrong 0.008]

Each question of the six sets is asked of all tables of its vault, without a search, and answered whatever the
evidence.  A logistic regression says from the signs of the plan whether the answer is right; `--penalty` holds its
weights small.  The least evidence is the one at which at most so many of all questions are `--wrong`.  A set is judged
by weights and threshold of the other five.  Printed are those figures, and the weights of all six.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from benchmarks.collections import Collection
from benchmarks.embeddings import LocalEmbeddings
from benchmarks.pipeline import pushed, soon
from benchmarks.tables import ingest_files, is_right, tables_of_app
from groundcheck.sentences import stemmed_words
from ragdrop.domain.retrieval import Query, Retrieval
from ragdrop.tables.answer_tables import answer_from_tables
from tests.table_set import truth

SETS = ("", "second", "third", "fourth", "fifth", "sixth")
STEPS = 30  # of Newton's method
SMALLEST = 0.05  # a weight below it is left out
_NOTHING = Retrieval([], 0, None, {})
Weights = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class JudgedQuestion:
    """What one question gave without a threshold: the signs of its plan, None if there is none, and if it is right."""

    of: str
    signs: Mapping[str, float] | None
    right: bool
    look_alike: bool

    def evidence(self, weights: Weights) -> float:
        return weights[""] + sum(weights.get(name, 0.0) * count for name, count in (self.signs or {}).items())


def read_questions(of: str, model: LocalEmbeddings) -> Iterator[JudgedQuestion]:
    """The questions of one set."""
    folder = truth.HERE / of
    tables = truth.tables(folder)
    for vault in dict.fromkeys(each["vault"] for each in tables.values()):
        with pushed(Collection(vault, [], {}, {}, {}), model) as place:
            ingest_files(place, vault, folder)
            ask = tables_of_app(place.app)
            today = datetime.fromtimestamp(place.app.ports.clock(), UTC).date()
            for question in truth.questions(folder):
                about = tables[question["table"]]
                if about["vault"] != vault:
                    continue
                near, _, _ = ask.tables_for(Query(question["ask"]), place.caller, _NOTHING, soon())
                given = answer_from_tables(question["ask"], near, today, least=-math.inf)
                is_known = given is None or given.table is None
                if given is not None and given.number is None:  # the question's own words
                    is_known |= set(stemmed_words(given.value)) <= set(stemmed_words(question["ask"]))
                if given is None or is_known:
                    yield JudgedQuestion(of, None, right=False, look_alike="refuse" in question)
                    continue
                number = None if given.number is None else format(given.number, "f")
                any_sign = "sign" in about or "abs(" in question.get("take", "")
                right = "answer" in question and is_right(question, given.value, number, any_sign=any_sign)
                yield JudgedQuestion(of, given.signs, right, "refuse" in question)


def fit_weights(asked: Sequence[JudgedQuestion], penalty: float) -> Weights:
    """The weights, that of no sign under an empty name, by Newton's method.

    >>> some = [JudgedQuestion("", {"left": at % 2}, at % 2 == 0, False) for at in range(40)]
    >>> weights = fit_weights(some, 1.0)
    >>> weights["left"] < 0 < weights[""]
    True
    """
    planned = [({"": 1.0, **each.signs}, each.right) for each in asked if each.signs is not None]
    names = sorted({name for signs, _ in planned for name in signs})
    place = {name: at for at, name in enumerate(names)}
    rows = [([(place[name], count) for name, count in signs.items() if count], right) for signs, right in planned]
    weights = [0.0] * len(names)
    for _ in range(STEPS):
        slope = [penalty * weight * bool(name) for name, weight in zip(names, weights, strict=True)]
        bend = [
            [(penalty if name else 1e-3) * (at == other) for other in range(len(names))]
            for at, name in enumerate(names)
        ]
        for row, right in rows:
            chance = 1 / (1 + math.exp(-sum(weights[at] * count for at, count in row)))
            for at, count in row:
                slope[at] += count * (chance - right)
                for other, also in row:
                    bend[at][other] += chance * (1 - chance) * count * also
        weights = [weight - step for weight, step in zip(weights, solve(bend, slope), strict=True)]
    return dict(zip(names, weights, strict=True))


def solve(matrix: Sequence[Sequence[float]], required: Sequence[float]) -> list[float]:
    """The vector that *matrix*, which is positive definite, turns into *required*.

    >>> solve([[2.0, 0.0], [0.0, 4.0]], [2.0, 2.0])
    [1.0, 0.5]
    """
    rows = [[*row, value] for row, value in zip(matrix, required, strict=True)]
    for at, pivot in enumerate(rows):
        rows[at] = [value / pivot[at] for value in pivot]
        for other in range(len(rows)):
            if other != at and rows[other][at]:
                factor = rows[other][at]
                rows[other] = [mine - factor * its for mine, its in zip(rows[other], rows[at], strict=True)]
    return [row[-1] for row in rows]


def least_evidence(asked: Sequence[JudgedQuestion], weights: Weights, wrong: float) -> float:
    """The evidence above which at most a share of *wrong* of all questions is answered wrongly."""
    planned = sorted(((each.evidence(weights), each.right) for each in asked if each.signs is not None), reverse=True)
    least, mistakes = math.inf, 0
    for evidence, right in planned:
        mistakes += not right
        if mistakes > wrong * len(asked):
            break
        least = evidence
    return least


def figures(asked: Sequence[JudgedQuestion], weights: Weights, least: float) -> str:
    own, near = ([each for each in asked if each.look_alike is look_alike] for look_alike in (False, True))
    given = [each for each in asked if each.signs is not None and each.evidence(weights) >= least]
    mine = [each for each in given if not each.look_alike]
    wrong = sum(not each.right for each in given)
    return " | ".join(
        (
            f"{len(mine) / max(1, len(own)):.1%}",
            f"{sum(each.right for each in mine) / max(1, len(mine)):.1%}",
            f"{wrong / max(1, len(asked)):.1%}",
            f"{1 - (len(given) - len(mine)) / max(1, len(near)):.1%}",
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--penalty", type=float, default=5.0)
    parser.add_argument("--wrong", type=float, default=0.008)
    options = parser.parse_args()
    with LocalEmbeddings() as model:
        asked = [each for of in SETS for each in read_questions(of, model)]
    print("| set | least | answered | right | wrong of all | look-alikes refused |\n|---|---|---|---|---|---|")
    for of in SETS:
        others, mine = ([each for each in asked if (each.of == of) is ours] for ours in (False, True))
        weights = fit_weights(others, options.penalty)
        least = least_evidence(others, weights, options.wrong)
        print(f"| {of or 'first'} | {least:.2f} | {figures(mine, weights, least)} |")
    weights = fit_weights(asked, options.penalty)
    least = least_evidence(asked, weights, options.wrong)
    for of in SETS:
        mine = [each for each in asked if each.of == of]
        print(f"| {of or 'first'}, all weights | {least:.2f} | {figures(mine, weights, least)} |")
    print({name: round(weight, 2) for name, weight in weights.items() if abs(weight) >= SMALLEST})


if __name__ == "__main__":
    main()
