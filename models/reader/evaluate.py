"""The goals' table of the reader: `python -m models.reader.evaluate MODEL TOKENIZER DATA [--part dev|test]`.

Needs onnxruntime, tokenizers and numpy alone.  The numbers are of raw logits: thresholds are said beside them.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import onnxruntime

from models.reader import data
from models.reader.batches import Encoded, Encoder, arrays
from models.reader.data import Row

Floats = Any  # arrays of numpy, which the project's environment does not have
AT_MOST = 600  # pairs of a set of others
SETS = (("sick", "test"), ("breaking-nli", "test"), ("conjnli", "dev"), ("monli", "test"), ("msr-paraphrase", "test"))
LONGEST_ANSWER = 40


class Scorer:
    """Runs the model on rows, those of about one length together."""

    def __init__(self, model: Path, tokenizer: Path, *, threads: int = 2) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        self.encoder = Encoder(tokenizer)

    def __call__(self, rows: Sequence[Row]) -> tuple[Floats, list[tuple[float, tuple[int, int]]]]:
        """The five logits of each row; of its likeliest answer the logit over "no answer", and its code points."""
        encoded = [self.encoder(row) for row in rows]
        order = sorted(range(len(rows)), key=lambda number: len(encoded[number].tokens))
        scores = np.zeros((len(rows), 5))
        spans: list[tuple[float, tuple[int, int]]] = [(0.0, (0, 0))] * len(rows)
        for at in range(0, len(order), 32):
            some = order[at : at + 32]
            names = ("tokens", "types", "mask")
            inputs = {
                name: each.astype(np.int32)
                for name, each in zip(names, arrays([encoded[n] for n in some]), strict=True)
            }
            found, edges = self._session.run(None, inputs)
            scores[some] = found
            for place, number in enumerate(some):
                spans[number] = self._span(encoded[number], edges[place].astype(np.float64))
        return scores, spans

    def _span(self, each: Encoded, edges: Floats) -> tuple[float, tuple[int, int]]:
        start, end = edges[each.passage_at : len(each.tokens) - 1].T
        if not len(start):
            return -20.0, (0, 0)
        sums = start[:, None] + end[None, :]
        places = np.arange(len(start))
        far = (places[None, :] < places[:, None]) | (places[None, :] >= places[:, None] + LONGEST_ANSWER)
        sums[far] = -1e9
        first, last = np.unravel_index(int(sums.argmax()), sums.shape)
        offsets = self.encoder.tokens(each.row.passage)[1]
        return float(sums[first, last] - edges[0].sum()), (offsets[first][0], offsets[last][1])


def softmax(logits: Floats) -> Floats:
    raised = np.exp(logits - logits.max(axis=1, keepdims=True))
    return raised / raised.sum(axis=1, keepdims=True)


def auc(high: Sequence[float], low: Sequence[float]) -> float:
    """The share of pairs in which *high* is above *low*; a tie counts half.

    >>> auc([2, 3], [1, 3])
    0.625
    """
    ranks = np.asarray(low)
    return float(np.mean([np.mean(ranks < each) + 0.5 * np.mean(ranks == each) for each in high]))


def square(scorer: Scorer, part: str) -> dict[str, Any]:
    """Support on the project's own square: the share of each cell by class, and what ranks above what."""
    rows = list(data.own_rows(data.own_passages(part)))
    claims = [(field, row) for field, row in rows if row.support]
    probabilities = softmax(scorer([row for _, row in claims])[0][:, 2:])
    cells: dict[str, list[Floats]] = defaultdict(list)
    for (field, _), each in zip(claims, probabilities, strict=True):
        cells[field.removesuffix("_2")].append(each)
    supported = {name: [float(each[0]) for each in values] for name, values in cells.items()}
    table = {
        name: {
            "count": len(values),
            "accepted": round(float(np.mean([each.argmax() == 0 for each in values])), 3),
            "contradicted": round(float(np.mean([each.argmax() == 1 for each in values])), 3),
        }
        for name, values in cells.items()
    }
    pairs = [
        ("own_true", "own_false"),
        ("other_true", "other_false"),
        ("other_true", "own_false"),
        ("own_true", "other_false"),
        ("other_true", "other_unsaid"),
        ("own_true", "own_unsaid"),
        ("other_true", "own_unsaid"),
    ]
    ranks = {f"{a} > {b}": round(auc(supported[a], supported[b]), 3) for a, b in pairs}
    return {"cells": table, "auc": ranks}


def others(scorer: Scorer, folder: Path) -> dict[str, float]:
    """Balanced accuracy of "supported" on sets of other people."""
    found = {}
    for name, split in SETS:
        lines = [line for line in data.read_lines(folder / "verify" / name / "pairs.jsonl") if line["split"] == split]
        lines = Random(name).sample(lines, min(AT_MOST, len(lines)))
        found[name] = _balanced(scorer, lines)
    for path in sorted((folder / "train").glob("test-*/pairs.jsonl")):
        lines = data.read_lines(path)
        lines = Random(path.parent.name).sample(lines, min(AT_MOST // 2, len(lines)))
        found[path.parent.name] = _balanced(scorer, lines)
    return found


def _balanced(scorer: Scorer, lines: Sequence[dict[str, Any]]) -> Any:
    scores = softmax(scorer([Row(line["hypothesis"], line["premise"], "") for line in lines])[0][:, 2:])
    good = np.array([line["label"] in ("supported", "paraphrase") for line in lines])
    said = scores.argmax(axis=1) == 0
    balanced = (said[good].mean() + (~said[~good]).mean()) / 2
    return round(float(balanced), 3), round(auc(scores[good, 0], scores[~good, 0]), 3)


def refusals(right: Sequence[float], wrong: Sequence[float], passed: float = 0.88) -> float:
    """The share of *wrong* (without an answer) under the threshold that lets *passed* of *right* through."""
    threshold = np.quantile(np.asarray(right), 1 - passed)
    return float(np.mean(np.asarray(wrong) < threshold))


def answers(scorer: Scorer, folder: Path, part: str) -> dict[str, Any]:
    """The answer head: unanswerable questions refused where 88 % of the answerable are let through, spans that fit."""
    questions = read_squad(folder)
    found: dict[str, Any] = {"squad2": _refused(scorer, [row for row, _ in questions])}
    spans = scorer([row for row, _ in questions])[1]
    f1 = [
        best_f1(row.passage[slice(*span)], golds)
        for (row, golds), (_, span) in zip(questions, spans, strict=True)
        if golds
    ]
    found["squad2"]["f1 of spans"] = round(float(np.mean(f1)), 3)
    own = [row for _, row in data.own_rows(data.own_passages(part)) if row.answerable is not None]
    found["own"] = _refused(scorer, own)
    for name in ("other", "own"):
        some = [
            row
            for field, row in data.own_rows(data.own_passages(part))
            if row.answerable is not None and field.startswith(name)
        ]
        found[f"own, {name} words"] = _refused(scorer, some)
    for name in ("clapnq-dev", "mtrag-un", "test-conditionalqa", "test-mediqa"):
        lines = data.read_lines(folder / "train" / name / "qa.jsonl")
        lines = Random(name).sample(lines, min(AT_MOST, len(lines)))
        found[name] = _refused(
            scorer, [Row(line["question"], line["passage"], name, answerable=line["answerable"]) for line in lines]
        )
    return found


def _refused(scorer: Scorer, rows: Sequence[Row]) -> dict[str, float]:
    scores, spans = scorer(rows)
    flag, margin = scores[:, 1], np.array([each[0] for each in spans])
    known = np.array([bool(row.answerable) for row in rows])
    made = {}
    for name, values in (("flag", flag), ("margin", margin), ("both", flag + 0.25 * margin)):
        made[f"auc {name}"] = round(auc(values[known], values[~known]), 3)
        made[f"refused {name}"] = round(refusals(values[known], values[~known]), 3)
    return made


def read_squad(folder: Path) -> list[tuple[Row, list[str]]]:
    asked = json.loads((folder / "squad2" / "queries.json").read_text(encoding="utf-8"))
    golds = json.loads((folder / "squad2" / "ground_truth.json").read_text(encoding="utf-8"))
    listed = asked.get("queries", asked) if isinstance(asked, dict) else asked
    rows = []
    for each in listed:
        gold = golds[each.get("id") or each["query_id"]]
        text = each.get("context") or each["passage"]
        question = each.get("question") or each["query"]
        rows.append((Row(question, text, "squad2", answerable=not gold["is_impossible"]), gold["answers"]))
    return rows


def best_f1(said: str, golds: Sequence[str]) -> float:
    """The best F1 of words between *said* and one of *golds*.

    >>> best_f1("the red pump", ["red pump"])
    1.0
    """
    return max(_f1(said, gold) for gold in golds)


def _f1(said: str, gold: str) -> float:
    one, other = (
        [w for w in "".join(c if c.isalnum() else " " for c in t.lower()).split() if w not in {"a", "an", "the"}]
        for t in (said, gold)
    )
    left = list(other)
    same = 0
    for word in one:
        if word in left:
            left.remove(word)
            same += 1
    return 2 * same / (len(one) + len(other)) if one and other else float(one == other)


def relevance(scorer: Scorer, candidates: Path) -> dict[str, Any]:
    """nDCG@10 of the candidates that the search gave, as they were, by the reader, and by both."""
    found: dict[str, Any] = {}
    ways: dict[str, list[float]] = {}
    for name, questions in json.loads(candidates.read_text(encoding="utf-8")).items():
        rows, places = [], []
        for number, each in enumerate(questions):
            for place, document in enumerate(each["found"]):
                title = document["title"] or ""
                for text in document["texts"][:1]:
                    rows.append(Row(each["question"], text if text.startswith(title) else f"{title}. {text}", ""))
                    places.append((number, place))
        scores, _ = scorer(rows)
        read: dict[int, dict[int, float]] = defaultdict(dict)
        for (number, place), score in zip(places, scores, strict=True):
            read[number][place] = float(score[0])
        made: dict[str, list[float]] = defaultdict(list)
        for number, each in enumerate(questions):
            documents = each["found"]
            ids = [document["id"] for document in documents]
            base = np.array([document["score"] or 0.0 for document in documents])
            ranked = {"search": base, "reader": np.array([read[number][place] for place in range(len(ids))])}
            for weight in (0.02, 0.04, 0.06, 0.08, 0.12):
                ranked[f"search + {weight} reader"] = base + weight * ranked["reader"]
            for way, values in ranked.items():
                best = [ids[place] for place in np.argsort(-values, kind="stable")]
                made[way].append(ndcg(best, each["relevant"]))
        found[name] = {way: round(float(np.mean(values)), 4) for way, values in made.items()}
        for way, value in found[name].items():
            ways.setdefault(way, []).append(value)
    found["mean"] = {way: round(float(np.mean(values)), 4) for way, values in ways.items()}
    return found


def ndcg(ids: Sequence[str], relevant: dict[str, float], at: int = 10) -> float:
    gains = [relevant.get(each, 0.0) for each in ids[:at]]
    best = sorted(relevant.values(), reverse=True)[:at]
    total = sum(gain / np.log2(place + 2) for place, gain in enumerate(best))
    return float(sum(gain / np.log2(place + 2) for place, gain in enumerate(gains)) / total) if total else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("tokenizer", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("--part", default="dev", choices=("dev", "test", "train"))
    parser.add_argument("--candidates", type=Path)
    parser.add_argument("--quick", action="store_true", help="the project's own items and SQuAD alone")
    args = parser.parse_args()
    scorer = Scorer(args.model, args.tokenizer)
    found: dict[str, Any] = {"square": square(scorer, args.part), "answers": answers(scorer, args.data, args.part)}
    if not args.quick:
        found["others"] = others(scorer, args.data)
    if args.candidates:
        found["relevance"] = relevance(scorer, args.candidates)
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
