"""Planted faults against the citation check: how many are caught, and how many true sentences are refused."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median

from benchmarks import records
from benchmarks.collections import needed_data
from benchmarks.records import Grid, publish
from groundcheck.sentences import sentences
from ragdrop.domain.answers import Segment
from ragdrop.domain.chunks import Chunk, Hit
from ragdrop.domain.documents import Facts
from ragdrop.domain.keys import DocumentKey
from ragdrop.generate.citations import AnswerReader, AskVerifier
from tests.groundcheck.planted_faults import PerturbedCase, SourcePassage, false_cases, true_cases

CASES = 500
SEED = 20261122
SENTENCES = 30
MIN_CAUGHT, MAX_REFUSED = 0.97, 0.05
FIRST_PAGES = 1_500  # of HotpotQA, for the sentences; the time of a check is measured over others


def passages(data: Path) -> list[SourcePassage]:
    squad = json.loads((data / "squad2" / "queries.json").read_text("utf-8"))["queries"]
    texts = dict.fromkeys(query["context"] for query in squad)
    return [*(SourcePassage("", text) for text in texts), *_pages(data)[:FIRST_PAGES]]


def other_passages(data: Path) -> list[SourcePassage]:
    return _pages(data)[FIRST_PAGES:]


def _pages(data: Path) -> list[SourcePassage]:
    lines = (data / "hotpotqa-500" / "corpus.jsonl").read_text("utf-8").splitlines()
    pages = [json.loads(line) for line in lines]
    return [SourcePassage(page["title"], page["text"]) for page in pages]


def _segment(number: int, text: str, title: str = "passage") -> Segment:
    facts = Facts(title=title, version_id="v", indexed_at="2026-01-01T00:00:00Z")
    return Segment(number, Hit(DocumentKey("bench", "vault", f"{number}.md"), 1, Chunk(0, 0, len(text), text), facts))


def judged(case: PerturbedCase) -> str | None:
    """What the check says of a case: None where it lets it pass as supported."""
    answer = AnswerReader([_segment(1, case.passage, case.title or "passage")], bucket="b").read(
        f"{case.sentence.strip()} [1]"
    )
    bad = answer.unsupported
    return bad[-1].reason if bad else None


def table(cases: Sequence[PerturbedCase]) -> dict[str, tuple[int, int]]:
    all_of, refused = Counter(case.kind for case in cases), Counter(case.kind for case in cases if judged(case))
    return {kind: (refused[kind], count) for kind, count in all_of.items()}


def share(cases: Sequence[PerturbedCase]) -> float:
    return sum(judged(case) is not None for case in cases) / len(cases)


def shown(groups: Mapping[str, Sequence[PerturbedCase]], note: str) -> Grid:
    """The table: a row a kind, then one for all of a group."""
    lines = []
    for name, cases in groups.items():
        rows = table(cases)
        lines += [(kind, str(refused), str(count), f"{refused / count:.1%}") for kind, (refused, count) in rows.items()]
        refused, count = (sum(row[part] for row in rows.values()) for part in (0, 1))
        lines.append((f"**{name}**", str(refused), str(count), f"**{refused / count:.1%}**"))
    return Grid(("sentences", "refused", "of", "share"), lines, note)


def check_ms(
    sources: Sequence[SourcePassage], ask: AskVerifier | None = None, *, clock: Callable[[], float] = time.process_time
) -> float:
    """Milliseconds to check 30 sentences over 10 chunks that were not seen before; the median.

    With a verifier each third sentence is none of its chunk, so that it is asked.
    """
    spent = []
    for first in range(0, 70, 10):
        segments, said = [], []
        for number, passage in enumerate(sources[first : first + 10], start=1):
            segments.append(_segment(number, passage.text))
            spans = sentences(passage.text)
            for place in range(SENTENCES // 10):
                span = spans[place % len(spans)]
                sentence = passage.text[span.start : span.end].rstrip(".").replace(" was ", " was indeed ")
                said.append(f"{sentence if ask is None or place else 'People there think about it a lot'} [{number}].")
        start = clock()
        AnswerReader(segments, bucket="b", ask=ask).read(" ".join(said))
        spent.append((clock() - start) * 1_000)
    return median(spent)


def main() -> int:
    """Measure and print; 1 where a floor is missed, nothing to do without the data."""
    options = records.parser(__doc__).parse_args()
    data = needed_data("citations")
    sources = passages(data)
    groups = {
        "all planted faults": false_cases(sources, CASES, SEED),
        "all true sentences": true_cases(sources, CASES, SEED + 1),
    }
    spent_ms = check_ms(other_passages(data))
    reported = f"`citation_check_ms` of {SENTENCES} sentences over 10 chunks: {spent_ms:.0f} (budget 50)."
    publish("citations", [shown(groups, reported)], write=options.write)
    shares = [share(cases) for cases in groups.values()]
    return int(shares[0] < MIN_CAUGHT or shares[1] > MAX_REFUSED)


if __name__ == "__main__":
    sys.exit(main())
