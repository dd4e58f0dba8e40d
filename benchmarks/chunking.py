"""Chunking: recall, precision and precision-omega of ragdrop's chunks beside a plain recursive splitter's.

Data: Chroma's chunking evaluation, in `$RAGDROP_EVAL_DATA/chunking-eval`.  Measures as there: Smith and Troynikov,
"Evaluating Chunking Strategies for Retrieval", Chroma, 2024.  Both sides are embedded by the local default model.
`--write` keeps the record.  Vectors are stored under RAGDROP_BENCH_CACHE (default `.local/bench`).
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks import records
from benchmarks.collections import needed_data
from benchmarks.embeddings import LocalEmbeddings
from benchmarks.records import Grid, publish
from ragdrop.models.splitter import SemanticSplitter
from readers.text import read_markdown

TOP = 5  # chunks a question, the evaluation's own choice
BUDGET_CHARACTERS = 9_000  # 5 chunks of the plain splitter: the same amount of text for both
PLAIN_CHARACTERS = 1_800  # 400 tokens of English by OpenAI's cl100k
SEPARATORS = ("\n\n", "\n", ". ", "? ", "! ", " ", "")

Span = tuple[int, int]


@dataclass(slots=True)
class Scores:
    """Sums over questions; each part is in [0, 1]."""

    questions: int = 0
    recall: float = 0.0
    precision: float = 0.0
    omega: float = 0.0
    budget_recall: float = 0.0
    chunks: int = 0

    def row(self, name: str) -> list[str]:
        n = max(self.questions, 1)
        parts = (self.recall / n, self.budget_recall / n, self.precision / n, self.omega / n)
        return [name, str(self.chunks), *(f"{100 * part:.1f}" for part in parts)]


def plain(text: str) -> list[Span]:
    """Cut recursively at the first separator that gives short enough pieces, then put neighbours together again."""
    pieces = list(_pieces(text, 0, len(text), 0))
    spans: list[Span] = []
    for start, end in pieces:
        if spans and end - spans[-1][0] <= PLAIN_CHARACTERS:
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    return spans


def _pieces(text: str, start: int, end: int, level: int) -> Iterator[Span]:
    if end - start <= PLAIN_CHARACTERS:
        yield start, end
        return
    separator = SEPARATORS[level]
    at = start
    while at < end:
        found = text.find(separator, at, end) if separator else at + PLAIN_CHARACTERS
        stop = min(found + len(separator) if found >= 0 else end, end)
        if stop - at > PLAIN_CHARACTERS:
            yield from _pieces(text, at, stop, level + 1)
        else:
            yield at, stop
        at = stop


def covered(spans: list[Span], references: list[Span]) -> int:
    places: set[int] = set()
    for first, last in references:
        for start, end in spans:
            places.update(range(max(first, start), min(last, end)))
    return len(places)


def score(scores: Scores, ranked: list[Span], spans: list[Span], references: list[Span]) -> None:
    """Add one question: *ranked* are all chunks, best first; *spans* the same in any order."""
    required = covered(references, references)
    top = ranked[:TOP]
    hits = covered(top, references)
    budget, used = [], 0
    for start, end in ranked:
        if used + end - start > BUDGET_CHARACTERS:
            break
        budget.append((start, end))
        used += end - start
    touched = [span for span in spans if any(span[0] < last and first < span[1] for first, last in references)]
    whole = covered(touched, references)
    scores.questions += 1
    scores.recall += hits / required
    scores.precision += hits / sum(end - start for start, end in top)
    scores.budget_recall += covered(budget, references) / required
    scores.omega += whole / (sum(end - start for start, end in touched) + required - whole)


def questions(folder: Path) -> dict[str, list[tuple[str, list[Span]]]]:
    found: dict[str, list[tuple[str, list[Span]]]] = {}
    with (folder / "questions_df.csv").open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            spans = [(values["start_index"], values["end_index"]) for values in json.loads(row["references"])]
            found.setdefault(row["corpus_id"], []).append((row["question"], spans))
    return found


def measure(folder: Path, sizes: list[tuple[int, int]]) -> Grid:
    asked = questions(folder)
    totals: dict[str, Scores] = {}
    with LocalEmbeddings() as model:
        splitter = SemanticSplitter(lambda: model.tokenizer)
        for corpus, values in sorted(asked.items()):
            text = (folder / "corpora" / f"{corpus}.md").read_bytes().decode()
            document = read_markdown(text.encode())
            ways = {"plain recursive, 400": plain(text)}
            for tokens, overlap in sizes:
                chunks = splitter.split(document, max_tokens=tokens, overlap_tokens=overlap)
                ways[f"ragdrop, {tokens} with {overlap}"] = [(chunk.start, chunk.end) for chunk in chunks]
            for name, spans in ways.items():
                scores = totals.setdefault(name, Scores())
                scores.chunks += len(spans)
                ranked = model.ranked([question for question, _ in values], [text[slice(*span)] for span in spans])
                for (_, references), order in zip(values, ranked, strict=True):
                    score(scores, [spans[place] for place in order], spans, references)
                print(f"{corpus}: {name}: {len(spans)} chunks", file=sys.stderr, flush=True)
    budget = f"recall of {BUDGET_CHARACTERS:,} characters"
    columns = ("splitter", "chunks", f"recall@{TOP}", budget, f"precision@{TOP}", "precision-omega")
    return Grid(columns, [scores.row(name) for name, scores in totals.items()])


def main() -> int:
    parser = records.parser(__doc__)
    parser.add_argument("--sizes", default="240:24", help="tokens:overlap, comma between; default: %(default)s")
    options = parser.parse_args()
    data = needed_data("chunking")
    sizes = [(int(one), int(other)) for one, other in (pair.split(":") for pair in options.sizes.split(","))]
    table = measure(data / "chunking-eval", sizes)
    publish("chunking", [table], "semantic-text-splitter", write=options.write)
    return 0


if __name__ == "__main__":
    sys.exit(main())
