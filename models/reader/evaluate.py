"""The goals' table of the reader: `python -m models.reader.evaluate FOLDER TOKENIZER DATA [--part dev|test]`.

FOLDER has reader.onnx and reader.json; DATA is the folder of evaluation data.  Claims are judged as the service does
it, by the rules and the reader together.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from groundcheck import STANDING, ClaimStatus, Passage
from groundcheck.claims import check_cited
from models.reader import data
from models.reader.data import Row
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.models import log_odds
from ragdrop.generate.citations import AskVerifier
from ragdrop.models.cached_reader import CachedReader
from ragdrop.models.onnx_reader import OnnxReader
from ragdrop.models.verifiers import ReaderVerifier
from ragdrop.operate.evaluation import ndcg
from ragdrop.ports.model_services import Reader, Reading

AT_MOST = 600  # pairs of a set of others
SETS = (("sick", "test"), ("breaking-nli", "test"), ("conjnli", "dev"), ("monli", "test"), ("msr-paraphrase", "test"))
QUESTIONS = ("clapnq-dev", "mtrag-un", "test-conditionalqa", "test-mediqa")
PASSED = 0.88  # share of the answerable questions that a threshold lets through
ORDERS = (
    ("own_true", "own_false"),
    ("plain_true", "plain_false"),
    ("other_true", "other_false"),
    ("other_true", "own_false"),
    ("own_true", "other_false"),
    ("plain_true", "plain_unsaid"),
    ("other_true", "other_unsaid"),
    ("own_true", "own_unsaid"),
)
Scorer = Callable[[Iterable[Row]], list[Reading]]
Verdicts = Callable[[Sequence[Row]], list[ClaimStatus]]


def in_no_hurry() -> Deadline:
    return Deadline.after(36_000.0)


def scorer_of(reader: Reader) -> Scorer:
    """The readings of rows."""
    return lambda rows: reader.read([(row.query, row.passage) for row in rows], in_no_hurry())


def auc(high: Sequence[float], low: Sequence[float]) -> float:
    """The share of pairs in which *high* is above *low*; a tie counts half.

    >>> auc([2, 3], [1, 3])
    0.625
    """
    ranks = np.asarray(low)
    return float(np.mean([np.mean(ranks < each) + 0.5 * np.mean(ranks == each) for each in high]))


def service(reader: Reader) -> Verdicts:
    """The status of claims by rules and reader, as `POST /v1/verify` gives it."""
    ask = AskVerifier(ReaderVerifier(reader), in_no_hurry())

    def verdicts(rows: Sequence[Row]) -> list[ClaimStatus]:
        return [check_cited(row.query, [Passage(row.passage, id=1)], ask).status for row in rows]

    return verdicts


def square(scorer: Scorer, verdicts: Verdicts, part: str) -> dict[str, Any]:
    """The project's own squares: of each cell what stands and what is verified, and what ranks above what."""
    cells: dict[str, list[Row]] = defaultdict(list)
    for field, row in data.own_rows(data.own_passages(part)):
        if row.support:
            cells[data.cell(field)].append(row)
    supported = {name: [each.supported for each in scorer(rows)] for name, rows in cells.items()}
    ranks = {f"{a} > {b}": round(auc(supported[a], supported[b]), 3) for a, b in ORDERS}
    return {"cells": {name: stand(verdicts(rows)) for name, rows in cells.items()}, "auc of the reader alone": ranks}


def stand(statuses: Sequence[ClaimStatus]) -> dict[str, Any]:
    """How many there are, and the share of them that stands, that is verified, and that is contradicted.

    >>> stand(["verified", "supported", "unsupported", "contradicted"])
    {'count': 4, 'stand': 0.5, 'verified': 0.25, 'contradicted': 0.25}
    """
    shares = {
        "stand": sum(status in STANDING for status in statuses),
        "verified": statuses.count("verified"),
        "contradicted": statuses.count("contradicted"),
    }
    return {"count": len(statuses)} | {name: round(each / len(statuses), 3) for name, each in shares.items()}


def others(scorer: Scorer, verdicts: Verdicts, folder: Path) -> dict[str, Any]:
    """Sets of other people: the balanced accuracy of "stands", and how the reader alone ranks."""
    found = {}
    for name, split in SETS:
        lines = [line for line in data.read_lines(folder / "verify" / name / "pairs.jsonl") if line["split"] == split]
        found[name] = _balanced(scorer, verdicts, Random(name).sample(lines, min(AT_MOST, len(lines))))
    for path in sorted((folder / "train").glob("test-*/pairs.jsonl")):
        lines = data.read_lines(path)
        lines = Random(path.parent.name).sample(lines, min(AT_MOST // 2, len(lines)))
        found[path.parent.name] = _balanced(scorer, verdicts, lines)
    return found


def _balanced(scorer: Scorer, verdicts: Verdicts, lines: Sequence[dict[str, Any]]) -> dict[str, float]:
    rows = [Row(line["hypothesis"], line["premise"], "") for line in lines]
    good = np.array([line["label"] in ("supported", "paraphrase") for line in lines])
    statuses = np.array(verdicts(rows))
    said, verified = np.isin(statuses, sorted(STANDING)), statuses == "verified"
    scores = np.array([each.supported for each in scorer(rows)])
    return {
        "balanced": round(float(said[good].mean() + (~said[~good]).mean()) / 2, 3),
        "verified": int(verified.sum()),
        "of these false": int((verified & ~good).sum()),
        "auc of the reader alone": round(auc(scores[good], scores[~good]), 3),
    }


def refused(scorer: Scorer, rows: Sequence[Row]) -> dict[str, float]:
    """Of questions without an answer the share under the threshold that lets PASSED of the answerable through."""
    scores = np.array([log_odds(each.answerable) for each in scorer(rows)])
    known = np.array([bool(row.answerable) for row in rows])
    threshold = np.quantile(scores[known], 1 - PASSED)
    return {
        "questions": len(rows),
        "auc": round(auc(scores[known], scores[~known]), 3),
        "refused": round(float(np.mean(scores[~known] < threshold)), 3),
    }


def answers(scorer: Scorer, folder: Path, part: str) -> dict[str, Any]:
    """The answer head: what it refuses, and how well its spans fit."""
    questions = read_squad(folder)
    found: dict[str, Any] = {"squad2": refused(scorer, [row for row, _ in questions])}
    found["squad2"]["f1 of spans"] = _f1_of_spans(scorer, questions)
    own = [(field, row) for field, row in data.own_rows(data.own_passages(part)) if row.answerable is not None]
    for words in ("own", "other"):
        found[f"in {words} words"] = refused(scorer, [row for field, row in own if field.startswith(words)])
    spans = [(row, [row.passage[slice(*row.span)]]) for _, row in own if row.span]
    found["f1 of own spans"] = _f1_of_spans(scorer, spans)
    for name in QUESTIONS:
        lines = data.read_lines(folder / "train" / name / "qa.jsonl")
        lines = Random(name).sample(lines, min(AT_MOST, len(lines)))
        rows = [Row(line["question"], line["passage"], name, answerable=line["answerable"]) for line in lines]
        found[name] = refused(scorer, rows)
    return found


def _f1_of_spans(scorer: Scorer, questions: Sequence[tuple[Row, Sequence[str]]]) -> float:
    right = [
        best_f1(row.passage[slice(*(reading.answer or (0, 0)))], golds)
        for (row, golds), reading in zip(questions, scorer([row for row, _ in questions]), strict=True)
        if golds
    ]
    return round(float(np.mean(right)), 3)


def read_squad(folder: Path) -> list[tuple[Row, list[str]]]:
    truth = json.loads((folder / "squad2" / "ground_truth.json").read_text(encoding="utf-8"))
    asked = json.loads((folder / "squad2" / "queries.json").read_text(encoding="utf-8"))["queries"]
    return [
        (
            Row(line["question"], line["context"], "squad2", answerable=not gold["is_impossible"]),
            list(filter(None, gold["answers"])),
        )
        for line, gold in ((line, truth[line["id"]]) for line in asked)
    ]


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


def relevance(scorer: Scorer, candidates: Path) -> dict[str, dict[str, float]]:
    """nDCG@10 of the candidates that the search gave, as they were, by the reader, and by both; and the first right."""
    found: dict[str, dict[str, float]] = {}
    for name, questions in json.loads(candidates.read_text(encoding="utf-8")).items():
        made: dict[str, list[float]] = defaultdict(list)
        for each in questions:
            documents = each["found"]
            read = np.array([log_odds(one.relevance) for one in scorer(_rows(each["question"], documents))])
            base = np.array([document["score"] or 0.0 for document in documents])
            ranked = {"search": base, "reader": read}
            ranked |= {f"search + {weight} reader": base + weight * read for weight in (0.01, 0.02, 0.03, 0.05, 0.08)}
            for way, values in ranked.items():
                best = [documents[place]["id"] for place in np.argsort(-values, kind="stable")]
                made[way].append(ndcg(best, each["relevant"]))
                for most in (1, 3):
                    made[f"{way}, among {most}"].append(any(id_ in each["relevant"] for id_ in best[:most]))
        found[name] = {way: round(float(np.mean(values)), 4) for way, values in made.items()}
    public = [row for name, row in found.items() if not name.startswith("own words")]
    means = {way: round(sum(row[way] for row in public) / len(public), 4) for way in public[0]}
    return found | {"mean of the collections": means}


def _rows(question: str, documents: Sequence[dict[str, Any]]) -> list[Row]:
    """Each document's best chunk, after its title where it does not begin with it."""
    rows = []
    for document in documents:
        title, text = document["title"] or "", document["texts"][0]
        rows.append(Row(question, text if text.startswith(title) else f"{title}. {text}", ""))
    return rows


def cost(folder: Path, tokenizer: Path) -> dict[str, float]:
    """The file's size, and the best of ten times for a pair of 200 tokens on one core and for ten pairs on two."""
    found = {"MB of the file": round((folder / "reader.onnx").stat().st_size / 1e6, 1)}
    for threads, count in ((1, 1), (2, 10)):
        reader = OnnxReader(folder, tokenizer=tokenizer, threads=threads)
        pairs = [("Where does the pump stand?", "The red pump stands in the cellar of the house. " * 17)] * count
        times = []
        for _ in range(10):
            start_s = time.perf_counter()
            reader.read(pairs, in_no_hurry())
            times.append(1_000 * (time.perf_counter() - start_s))
        found[f"ms for {count} of 200 tokens on {threads}"] = round(min(times), 1)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("tokenizer", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("--part", default="dev", choices=("dev", "test"), help="of the project's own passages")
    parser.add_argument("--candidates", type=Path, help="what `python -m models.reader.candidates` wrote")
    args = parser.parse_args()
    reader = CachedReader(OnnxReader(args.folder, tokenizer=args.tokenizer), size=1_000_000)
    scorer, verdicts = scorer_of(reader), service(reader)
    found: dict[str, Any] = {
        "cost": cost(args.folder, args.tokenizer),
        "answers": answers(scorer, args.data, args.part),
        "square": square(scorer, verdicts, args.part),
        "others": others(scorer, verdicts, args.data),
    }
    if args.candidates:
        found["relevance"] = relevance(scorer, args.candidates)
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
