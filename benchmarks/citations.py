"""Planted faults against the citation check: how many are caught, and how many true sentences are refused."""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.perturbations import Case, Passage, false_cases, true_cases
from ragdrop.domain.answers import Segment
from ragdrop.domain.chunks import Chunk, Hit
from ragdrop.domain.citations import cite
from ragdrop.domain.documents import Facts
from ragdrop.domain.keys import DocumentKey

CASES = 500
SEED = 20261122
TRUE = {"verbatim", "paraphrase"}


def passages(data: Path) -> list[Passage]:
    """The paragraphs of SQuAD 2.0 and HotpotQA."""
    squad = json.loads((data / "squad2" / "queries.json").read_text("utf-8"))["queries"]
    texts = dict.fromkeys(query["context"] for query in squad)
    lines = (data / "hotpotqa-500" / "corpus.jsonl").read_text("utf-8").splitlines()
    pages = [json.loads(line) for line in lines]
    return [*(Passage("", text) for text in texts), *(Passage(page["title"], page["text"]) for page in pages[:1_500])]


def judged(case: Case) -> str | None:
    """What the check says of a case: None where it lets it pass as supported."""
    text = case.passage
    facts = Facts(title=case.title or "passage", version_id="v", indexed_at="2026-01-01T00:00:00Z")
    segment = Segment(1, Hit(DocumentKey("bench", "vault", "p.md"), 1, Chunk(0, 0, len(text), text), facts))
    answer = cite(f"{case.sentence.strip()} [1]", [segment], bucket="b")
    bad = answer.unsupported
    return bad[-1].reason if bad else None


def table(cases: Sequence[Case]) -> dict[str, tuple[int, int]]:
    """By kind: how many were refused, of how many."""
    all_of, refused = Counter(case.kind for case in cases), Counter(case.kind for case in cases if judged(case))
    return {kind: (refused[kind], count) for kind, count in all_of.items()}


def main() -> None:
    """Print the table of docs/quality.md."""
    data = os.environ.get("RAGDROP_EVAL_DATA")
    if not data:
        sys.exit("RAGDROP_EVAL_DATA is not set: it names the folder of the evaluation collections")
    held = passages(Path(data))
    start = time.perf_counter()
    rows = table([*false_cases(held, CASES, SEED), *true_cases(held, CASES, SEED + 1)])
    spent_ms = (time.perf_counter() - start) * 1_000 / sum(count for _, count in rows.values())
    print("| sentences | refused | of | share |\n|---|---|---|---|")
    for kind, (refused, count) in rows.items():
        print(f"| {kind} | {refused} | {count} | {refused / count:.1%} |")
    for name, kinds in (
        ("all faults", set(rows) - {"verbatim", "paraphrase"}),
        ("all true", {"verbatim", "paraphrase"}),
    ):
        refused, count = (sum(rows[kind][part] for kind in kinds) for part in (0, 1))
        print(f"| **{name}** | {refused} | {count} | **{refused / count:.1%}** |")
    print(f"\n{spent_ms:.2f} ms a sentence, cases and tokenizing included")


if __name__ == "__main__":
    main()
