"""Sentences that people wrote against the check: what it accepts, what it marks verified, what it catches.

    RAGDROP_EVAL_DATA=… python -m benchmarks.verification [--write] [--list]

`benchmarks/verification/pairs.txt` holds a full square over twenty passages: true, false and unsaid sentences, in the
passage's own words and in others.  Nothing is tuned on them.  The sets in `verify/` of the evaluation data are those of
other people: each is judged in its test half, with two baselines.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import records
from benchmarks.citations import check_ms, other_passages
from benchmarks.collections import data_folder
from benchmarks.embeddings import LocalEmbeddings, MadeEmbedder
from benchmarks.records import Grid, publish
from groundcheck import ClaimStatus, Passage, SecondOpinion
from groundcheck.claims import check_cited
from groundcheck.sentences import stemmed_words
from models.reader.bounds import upper_bound
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.models import EmbeddingSpace, for_space
from ragdrop.generate.citations import AskVerifier
from ragdrop.models.verifiers import ReaderVerifier, SentenceVectorVerifier
from ragdrop.ports.answer_services import ClaimVerifier

PAIRS = Path(__file__).parent / "verification" / "pairs.txt"
SPACE = EmbeddingSpace("all-MiniLM-L6-v2", 384)
SETS = (("conjnli", "dev"), ("sick", "test"), ("monli", "test"), ("breaking-nli", "test"), ("msr-paraphrase", "test"))
AT_MOST = 600  # pairs of a set, drawn with SEED
SEED = 20261123
STANDING = ("verified", "supported")
OVERLAP = 0.6  # of the baseline that counts words
TRUE = ("supported", "paraphrase")
WORDS = {"+": "other", "-": "own", "+=": "own", "-*": "other", "?=": "own", "?*": "other"}


@dataclass(frozen=True, slots=True)
class Pair:
    """A sentence over a passage; `kind` names its fault, empty where it is true; `words` are `own` or `other`."""

    passage: str
    sentence: str
    kind: str
    words: str = ""


def written_pairs() -> list[Pair]:
    found, passage = [], ""
    for line in PAIRS.read_text("utf-8").splitlines():
        mark, _, sentence = line.partition(" ")
        if mark in WORDS:
            kind = {"+": "", "?": "unsaid"}.get(mark[0])
            if kind is None:
                kind, _, sentence = sentence.partition(": ")
            found.append(Pair(passage, sentence, kind, WORDS[mark]))
        elif line and not line.startswith(("#", "=")):
            passage = line
    return found


def open_pairs(data: Path, name: str, split: str) -> list[Pair]:
    """Pairs of a set of other people: `kind` is the label of what is not true."""
    lines = (data / "verify" / name / "pairs.jsonl").read_text("utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if row["split"] == split]
    random.Random(SEED).shuffle(rows)
    return [
        Pair(row["premise"], row["hypothesis"], "" if row["label"] in TRUE else row["label"]) for row in rows[:AT_MOST]
    ]


def status_of(pair: Pair, ask: SecondOpinion | None) -> tuple[ClaimStatus, str | None]:
    checked = check_cited(pair.sentence, [Passage(pair.passage, id=1)], ask)
    return checked.status, checked.reason


def counted(name: str, pairs: Sequence[Pair], ask: SecondOpinion | None) -> list[str]:
    """A row: of the true ones how many stand and are verified, of the false ones how many are caught and verified."""
    reported = [(pair, status_of(pair, ask)[0]) for pair in pairs]
    true = [status for pair, status in reported if not pair.kind]
    false = [status for pair, status in reported if pair.kind]
    return [
        name,
        _share(sum(status in STANDING for status in true), len(true)),
        _share(true.count("verified"), len(true)),
        _share(sum(status not in STANDING for status in false), len(false)),
        _share(false.count("verified"), len(false)),
    ]


def _share(count: int, whole: int) -> str:
    return f"{count} of {whole}" if whole else "–"


def promise(name: str, pairs: Sequence[Pair], ask: SecondOpinion | None) -> list[str]:
    """A row: how many of the pairs are verified, how many of these are false, and the most that can be, with 95 %."""
    reported = [pair for pair in pairs if status_of(pair, ask)[0] == "verified"]
    false = sum(bool(pair.kind) for pair in reported)
    return [name, str(len(pairs)), str(len(reported)), str(false), f"{upper_bound(false, len(reported)):.1%}"]


def kinds(pairs: Sequence[Pair], ask: SecondOpinion | None) -> Iterator[list[str]]:
    for kind in dict.fromkeys(pair.kind for pair in pairs if pair.kind):
        statuses = [status_of(pair, ask)[0] for pair in pairs if pair.kind == kind]
        yield [
            kind,
            str(len(statuses)),
            str(sum(status not in STANDING for status in statuses)),
            str(statuses.count("verified")),
        ]


def balanced(pairs: Sequence[Pair], stands: Callable[[Pair], bool]) -> float:
    """The mean of both shares of right ones; one half is chance, and what always saying the same gives."""
    sides = [[stands(pair) != bool(pair.kind) for pair in pairs if bool(pair.kind) == side] for side in (False, True)]
    shares = [sum(side) / len(side) for side in sides if side]
    return sum(shares) / len(shares)


def _overlap(pair: Pair) -> float:
    required, given = set(stemmed_words(pair.sentence)), set(stemmed_words(pair.passage))
    return len(required & given) / max(1, len(required))


def verifiers(model: LocalEmbeddings) -> dict[str, ClaimVerifier]:
    """What may judge beside the rules, the best last; the reader where one was trained."""
    found: dict[str, ClaimVerifier] = {"vectors": SentenceVectorVerifier(model, SPACE, for_space(SPACE).vector)}
    if model.reader is not None:
        found["reader"] = ReaderVerifier(model.reader)
    return found


def _spent_ms(data: Path, model: LocalEmbeddings, verifier: ClaimVerifier) -> float:
    model.computed(["the server starts"])
    if isinstance(verifier, SentenceVectorVerifier):
        uncached = MadeEmbedder(lambda texts: list(map(model.computed(texts).__getitem__, texts)))
        verifier = SentenceVectorVerifier(uncached, SPACE, for_space(SPACE).vector)
    return check_ms(other_passages(data), AskVerifier(verifier, Deadline.after(3_600)), clock=time.perf_counter)


def main() -> int:
    parser = records.parser(__doc__)
    parser.add_argument("--list", action="store_true", help="show each sentence that went wrong")
    options = parser.parse_args()
    pairs, data = written_pairs(), data_folder()
    sets = {} if data is None else {name: open_pairs(data, name, split) for name, split in SETS}
    with LocalEmbeddings() as model:
        judges = verifiers(model)
        asked = {"rules": None} | {name: AskVerifier(each, Deadline.after(3_600)) for name, each in judges.items()}
        rows = [
            counted(f"hand-written, {words} words, {name}", [pair for pair in pairs if pair.words == words], ask)
            for words in ("own", "other")
            for name, ask in asked.items()
        ]
        best, ask = list(asked.items())[-1]
        by_kind = list(kinds(pairs, ask))
        other = []
        for name, values in sets.items():
            rows.append(counted(f"{name}, {dict(SETS)[name]}", values, ask))
            stand = [lambda pair, ask=each: status_of(pair, ask)[0] in STANDING for each in asked.values()]
            shares = [balanced(values, each) for each in (*stand, lambda pair: _overlap(pair) >= OVERLAP)]
            other.append([name, str(len(values)), *(f"{share:.2f}" for share in shares), "0.50"])
        stored = [promise(name, values, ask) for name, values in {"hand-written": pairs, **sets}.items()]
        spent_ms = _spent_ms(data, model, judges[best]) if data is not None else None
        if options.list:
            for pair in pairs:
                status, reason = status_of(pair, ask)
                if (status in STANDING) == bool(pair.kind):
                    print(f"{status} {reason or ''} [{pair.kind or 'true'}] {pair.sentence}")
    reported = ("sentences", "true that stand", "true and verified", "false and caught", "false and verified")
    grids = [Grid(reported, rows), Grid(("fault", "sentences", "caught", "verified"), by_kind)]
    if other:
        grids.append(Grid(("set", "pairs", *asked, "lexical only", "one answer for all"), other))
    note = f"30 sentences over 10 chunks, ten of them for the verifier: {spent_ms:.0f} ms." if spent_ms else ""
    grids.append(Grid(("set", "sentences", "verified", "of these false", "false at most"), stored, note))
    publish("verification", grids, write=options.write)
    return 0


if __name__ == "__main__":
    sys.exit(main())
