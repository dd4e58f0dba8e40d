"""Turn logits into probabilities, and weigh the reader with the rules: `python -m models.reader.calibrate FOLDER …`.

Writes FOLDER/reader.json for FOLDER/reader.onnx, and prints the scale for `ragdrop.models.verifiers`.  Both are found
on the tenth of our passages that chooses between models and on the parts of the open sets that are not trained on.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import exp, log
from pathlib import Path
from pprint import pformat
from random import Random
from typing import Any

import numpy as np

from groundcheck import OpenClaim, Passage
from groundcheck.claims import check_cited
from models.reader import data
from models.reader.bounds import upper_bound
from models.reader.data import Row
from models.reader.evaluate import QUESTIONS, scorer_of
from ragdrop.domain.models import log_odds
from ragdrop.models.onnx_reader import VERSION, OnnxReader
from ragdrop.models.verifiers import READER_SCALE, ReaderScale
from ragdrop.ports.model_services import Reading

Floats = Any  # arrays of numpy, which the project's environment does not have
ERROR = 0.02  # of what is called verified
PLAIN = 3.0  # weight of a claim in plain words: answers are written so
RARE = 25  # findings of the rules that are seen less often count by their status
RIDGE = 1.0
REFUSED = 0.3  # what rules refuse counts so much more: to accept a false sentence costs more than to refuse a true one
A_SET = 200  # rows of an open set


def fit_temperature(loss: Callable[[float], float], *, low: float = 0.2, high: float = 8.0) -> float:
    """The temperature in [*low*, *high*] with the least *loss*, by the golden section of its logarithm.

    Guo et al., "On Calibration of Modern Neural Networks", 2017: one number a head keeps the order of all scores.

    >>> round(fit_temperature(lambda each: (each - 2) ** 2), 2)
    2.0
    """
    share = (5**0.5 - 1) / 2
    left, right = log(low), log(high)
    while right - left > 1e-4:
        one, other = right - share * (right - left), left + share * (right - left)
        if loss(exp(one)) < loss(exp(other)):
            right = other
        else:
            left = one
    return exp((left + right) / 2)


def loss_of_classes(logits: Floats, classes: Floats) -> Callable[[float], float]:
    """The mean cross-entropy of rows of *logits* with the right *classes*, by temperature."""

    def loss(temperature: float) -> float:
        scaled = logits / temperature
        scaled = scaled - scaled.max(axis=1, keepdims=True)
        sums = np.log(np.exp(scaled).sum(axis=1))
        return float(np.mean(sums - scaled[np.arange(len(classes)), classes]))

    return loss


def loss_of_flags(logits: Floats, flags: Floats) -> Callable[[float], float]:
    """The mean cross-entropy of *logits* of yes or no, by temperature."""
    return lambda temperature: float(np.mean(np.logaddexp(0.0, -(2.0 * flags - 1.0) * logits / temperature)))


def least_threshold(scores: Sequence[float], right: Sequence[bool], error: float) -> float | None:
    """The least threshold above which at most a share *error* is wrong, at 95 % confidence; None where there is none.

    >>> least_threshold([0.1 * (each % 9) for each in range(900)], [each % 9 > 4 for each in range(900)], 0.02)
    0.5
    """
    order = np.argsort(-np.asarray(scores), kind="stable")
    values, wrong = np.asarray(scores)[order], np.cumsum(~np.asarray(right, dtype=bool)[order])
    best = None
    for number in range(len(values)):
        if number + 1 < len(values) and values[number + 1] == values[number]:
            continue
        if wrong[number] / (number + 1) <= error and upper_bound(int(wrong[number]), number + 1) <= error:
            best = float(values[number])
    return best


def logistic(features: Floats, flags: Floats, weights: Floats) -> Floats:
    """The coefficients of a logistic regression with a ridge, by Newton's method; the first column has none.

    >>> two = np.array([[1.0, -1.0], [1.0, 1.0]] * 50)
    >>> bool(logistic(two, np.array([0.0, 1.0] * 50), np.ones(100))[1] > 1.5)
    True
    """
    found = np.zeros(features.shape[1])
    ridge = np.diag([0.0] + [RIDGE] * (features.shape[1] - 1))
    for _ in range(50):
        likely = 1 / (1 + np.exp(-features @ found))
        slope = features.T @ (weights * (flags - likely)) - ridge @ found
        bend = (features.T * (weights * likely * (1 - likely))) @ features + ridge
        step = np.linalg.solve(bend, slope)
        found = found + step
        if np.abs(step).max() < 1e-8:
            break
    return found


def finding_of(row: Row) -> OpenClaim:
    """What the rules say of a claim on its passage."""
    found = check_cited(row.query, [Passage(row.passage, id=1)])
    return OpenClaim(row.query, (), (row.passage,), found.status, found.reason, found.support or 0.0)


def fit_scale(judged: Sequence[tuple[OpenClaim, Reading, tuple[str, Row]]]) -> ReaderScale:
    """The weights of the reader, the words and the rules, by claims with a known answer."""
    counts = Counter(f"{claim.status}:{claim.reason}" for claim, _, _ in judged)
    names = sorted(name for name, count in counts.items() if count >= RARE)
    names += sorted({claim.status for claim, _, _ in judged})
    features, flags, weights = [], [], []
    for claim, reading, (field, row) in judged:
        name = f"{claim.status}:{claim.reason}"
        name = name if name in names else claim.status
        odds = log_odds(reading.supported), log_odds(reading.contradicted)
        features.append([1.0, *odds, claim.support, *(float(each == name) for each in names)])
        flags.append(float(row.support == "supported"))
        weights.append(PLAIN if field.startswith("plain") else 1.0)
    found = [round(float(each), 3) for each in logistic(np.array(features), np.array(flags), np.array(weights))]
    return replace(
        READER_SCALE,
        bias=found[0],
        supported=found[1],
        contradicted=found[2],
        overlap=found[3],
        findings={name: round(each - REFUSED * _refuses(name), 3) for name, each in zip(names, found[4:], strict=True)},
    )


def _refuses(finding: str) -> bool:
    return finding.startswith("contradicted") or (finding.startswith("unsupported:") and finding != "unsupported:words")


def judging_rows(folder: Path, file: str) -> list[dict[str, Any]]:
    """Rows of the open sets that were not trained on, some of each set."""
    rows = []
    for name, lines in data.open_sets(folder / "train", file, trains=False):
        if name not in QUESTIONS:  # these judge
            rows += Random(name).sample(lines, min(A_SET, len(lines)))
    return rows


def write_card(folder: Path, temperatures: dict[str, float]) -> None:
    checksum = hashlib.sha256((folder / "reader.onnx").read_bytes()).hexdigest()
    card = {"version": VERSION, "sha256": checksum, "languages": ["en"], "temperatures": temperatures}
    (folder / "reader.json").write_text(json.dumps(card, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("tokenizer", type=Path)
    parser.add_argument("data", type=Path)
    args = parser.parse_args()
    write_card(args.folder, dict.fromkeys(("relevance", "answerable", "support"), 1.0))
    scorer = scorer_of(OnnxReader(args.folder, tokenizer=args.tokenizer))
    own = list(data.own_rows(data.own_passages("dev")))
    asked = [
        Row(line["question"], line["passage"], "", None, line["answerable"])
        for line in judging_rows(args.data, "qa.jsonl")
    ]
    asked += [row for _, row in own if row.answerable is not None]
    read, flags = scorer(asked), np.array([float(bool(row.answerable)) for row in asked])
    heat = {
        name: fit_temperature(loss_of_flags(np.array([log_odds(getattr(each, name)) for each in read]), flags))
        for name in ("relevance", "answerable")
    }
    rows = [(field, row) for field, row in own if row.support]
    rows += [("open", row) for row in _claims(args.data)]
    read = scorer(row for _, row in rows)
    logits = np.log(np.clip([[e.supported, e.contradicted, 1 - e.supported - e.contradicted] for e in read], 1e-9, 1))
    classes = np.array([data.CLASSES.index(row.support or "") for _, row in rows])
    heat["support"] = fit_temperature(loss_of_classes(logits, classes))
    write_card(args.folder, {name: round(each, 3) for name, each in heat.items()})
    shares = np.exp(logits / heat["support"])
    shares /= shares.sum(axis=1, keepdims=True)
    judged = [
        (finding_of(row), replace(reading, supported=float(share[0]), contradicted=float(share[1])), (field, row))
        for reading, share, (field, row) in zip(read, shares, rows, strict=True)
    ]
    scale = fit_scale([each for each in judged if each[2][0] != "open"])
    scores = [scale.score(claim, reading) for claim, reading, _ in judged]
    verified = least_threshold(scores, [row.support == "supported" for _, _, (_, row) in judged], ERROR)
    print(f"{ERROR:.0%} of what is verified is false at 95 % confidence from {verified} on")
    print(pformat(scale, width=118))


def _claims(folder: Path) -> list[Row]:
    return [
        Row(line["hypothesis"], line["premise"], "", support=line["label"])
        for line in judging_rows(folder, "pairs.jsonl")
    ]


if __name__ == "__main__":
    main()
