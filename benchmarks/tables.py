"""Questions over tables: right where answered, wrong numbers that leave, look-alikes refused, and the time of it.

    python -m benchmarks.tables [--set second|...|seventh] [--final] [--write] [--list] [--vault NAME ...]
    python -m benchmarks.tables --rows [1000000] [--write]

The set is in `tests/table_set`: 40 tables of eight kinds, in nine vaults.  Its files are ingested, and each question is
asked of its vault by `/ask` without a language model.  Look-alikes ask for a column, year, unit or value that is not
there, or for a column that may mean two things.  Half of the tables with their questions are for the final figures
only (`--final`): nothing is tuned on them.  `--set second` asks the 24 tables of `tests/table_set/second`, which were
written without a look at the code that answers; `--set third`, `--set fourth` and `--set fifth` ask 12 each, written
likewise, `--set sixth` asks 13 and `--set seventh` 12.  All from the fourth on is final: `--final` is implied.
"""

from __future__ import annotations

import math
import random
import re
import resource
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from mimetypes import guess_type
from pathlib import Path
from typing import Any

from benchmarks import records
from benchmarks.collections import Collection
from benchmarks.embeddings import LocalEmbeddings
from benchmarks.pipeline import SETTINGS, TENANT, Pushed, delivery, pushed, soon, stores_in_memory
from benchmarks.records import Grid, publish
from groundcheck import STANDING
from ragdrop.app import App, Ports, compose
from ragdrop.config import Settings
from ragdrop.domain.answers import Answer, Question, TableProof
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.retrieval import Query
from ragdrop.domain.tenants import Caller
from ragdrop.generate.ask_tables import AskTables
from ragdrop.ingest.index_revision import MAX_OBJECT_BYTES
from ragdrop.ports.message_queue import Change
from readers.content import ContentParser
from readers.isolated_reader import IsolatedReader
from testing.memory_message_queue import MemoryMessageQueue
from testing.memory_object_store import MemoryObjectStore
from testing.models import HashingEmbedder
from tests.table_set import truth

COLUMNS = (
    "kind",
    "right where answered",
    "answered",
    "wrong, shown as verified",
    "look-alikes refused",
    "look-alikes without a number",
    "rows cited agree",
    "ms on top: half, 95 %",
)
ONLY_FINAL = ("fourth", "fifth", "sixth", "seventh")  # sets that have no other half
_ROW = re.compile(r"(\d+)$")


@dataclass(frozen=True, slots=True)
class TableOutcome:
    """What became of one question; `rows` says whether all rows cited are rows that the right answer rests on."""

    question: dict[str, Any]
    kind: str
    given: Answer
    right: bool
    rows: bool
    seconds: float

    @property
    def computed(self) -> bool:
        return self.given.table is not None

    @property
    def look_alike(self) -> bool:
        return "refuse" in self.question

    @property
    def wrong(self) -> bool:
        """A computed answer that must not leave, shown as verified."""
        return self.computed and not self.right and all(claim.status in STANDING for claim in self.given.claims)

    @property
    def failed(self) -> bool:
        """Not right, or a look-alike that is answered, be it in words."""
        return self.given.abstain_reason is None if self.look_alike else not self.right

    def __str__(self) -> str:
        given, table = self.given, self.given.table
        got = f"in words {given.text[:80]!r}" if given.abstain_reason is None else given.abstain_reason
        if table is not None:
            got = f"{table.value[:100]!r} by {table.expression} of {table.path}"
        expected = f"refuse: {self.question['refuse']}" if self.look_alike else f"{self.question['answer']!r:.120}"
        return f"{self.question['id']}: {self.question['ask']} -> {got}; expected {expected}"


def is_right(question: dict[str, Any], value: str, number: str | None, *, any_sign: bool = False) -> bool:
    """Whether a computed answer is right: a number to half a hundredth, a list whole, a text as the first thing.

    >>> is_right({"answer": ["a", "b"]}, "B, a", None), is_right({"answer": 2.5}, "2.50 EUR", "2.50")
    (True, True)
    >>> is_right({"answer": "Rent"}, "Rent: 12.00 EUR, Car: 8.00 EUR", None), is_right({"answer": "Rent"}, "12", "12")
    (True, False)
    """
    expected = question["answer"]
    if isinstance(expected, list):
        texts = value.split(", ") if not any(", " in str(each) for each in expected) else [value]
        return sorted(map(_folded, expected)) == sorted(map(_folded, texts))
    if isinstance(expected, (int, float)) and number is not None:
        return abs(float(number) - expected) <= 0.0051 or (any_sign and abs(float(number) + expected) <= 0.0051)
    if question.get("unit") == "clock":
        expected = f"{int(expected) // 3600:02}:{int(expected) // 60 % 60:02}"
    return bool(re.match(rf"{re.escape(_folded(expected))}(?:$|[:,(]| \()", _folded(value)))


def _folded(text: object) -> str:
    return " ".join(str(text).casefold().split())


def rows_agree(question: dict[str, Any], proof: TableProof) -> bool:
    """Whether rows are cited, and none that the right answer does not rest on; of notes whether there are too many."""
    rest = {place.rpartition("!")[2] for place in question["rests_on"]}
    cited = {found[1] for cell in proof.cells if (found := _ROW.search(cell))}
    return (
        0 < proof.rows_used <= len(rest)
        if any(place.endswith(".md") for place in rest)
        else bool(cited) and cited <= rest
    )


def files_of(vault: str, folder: Path = truth.HERE) -> Iterator[Path]:
    """All files of *vault* of the set in *folder*; of a folder of notes each note."""
    for each in truth.tables(folder).values():
        if each["vault"] == vault:
            path = folder / "files" / each["file"]
            yield from sorted(path.glob("*")) if path.is_dir() else [path]


def ingest_files(place: Pushed, vault: str, folder: Path) -> None:
    for number, path in enumerate(files_of(vault, folder)):
        key = DocumentKey(TENANT, vault, path.name).s3_key
        kind = guess_type(path.name)[0] or "application/octet-stream"
        place.app.ports.documents.put(key, path.read_bytes(), media_type=kind, metadata={})
        if place.app.ingest.reconcile([delivery(Change(key, f"{number:018X}"))], soon()):
            sys.exit(f"{path.name} was not indexed")
    place.app.tenants.directory.forget(TENANT)


def tables_of_app(app: App) -> AskTables:
    """What `/ask` asks of tables, without a model that plans."""
    return AskTables(
        revisions=app.ports.revisions,
        registry=app.ports.guarded_registry,
        resolve_view=app.query.resolve_view,
        directory=app.tenants.directory,
        bucket=app.ports.settings.document_bucket,
        clock=app.ports.clock,
    )


def asked_of(vault: str, folder: Path, model: LocalEmbeddings, *, final: bool) -> Iterator[TableOutcome]:
    """What becomes of the questions of *vault*."""
    described = {name: each for name, each in truth.tables(folder).items() if each["vault"] == vault}
    questions = [each for each in truth.questions(folder, final=final) if each["table"] in described]
    texts = {each["id"]: each["ask"] for each in questions}
    with pushed(Collection(vault, [], texts, {}, {}), model) as place:
        ingest_files(place, vault, folder)
        place.answer_locally()
        query = place.app.query
        tables = tables_of_app(place.app)
        for question in questions:
            asked = Question(Query(question["ask"]))
            found = query.uncached_search(asked.query, place.caller, soon())
            tables(asked, place.caller, found, soon())  # warm: the tables are read
            began = time.perf_counter()
            tables(asked, place.caller, found, soon())
            seconds = time.perf_counter() - began
            given = place.app.generate.ask(asked, place.caller, soon())
            about = described[question["table"]]
            right = rows = False
            if given.table is not None and "answer" in question:
                any_sign = "sign" in about or "abs(" in question["take"]  # what was spent, and a difference
                right = is_right(question, given.table.value, given.table.number, any_sign=any_sign)
                rows = right and rows_agree(question, given.table)
            yield TableOutcome(question, about["kind"], given, right, rows, seconds)


def share(some: Sequence[TableOutcome], test: Callable[[TableOutcome], bool]) -> str:
    count = sum(map(test, some))
    return f"{count / max(1, len(some)):.1%} ({count} of {len(some)})"


def figures(outcomes: Sequence[TableOutcome]) -> list[str]:
    """The cells of a row behind its name; see COLUMNS."""
    own = [each for each in outcomes if not each.look_alike]
    near = [each for each in outcomes if each.look_alike]
    answered = [each for each in own if each.computed]
    times = sorted(1000 * each.seconds for each in outcomes)
    return [
        share(answered, lambda each: each.right),
        share(own, lambda each: each.computed),
        share(outcomes, lambda each: each.wrong),
        share(near, lambda each: each.given.abstain_reason is not None),
        share(near, lambda each: not each.computed),
        share([each for each in answered if each.right], lambda each: each.rows),
        f"{times[len(times) // 2]:.1f}, {times[len(times) * 19 // 20]:.1f}",
    ]


LARGE = (
    "how much did the dog cost in august 2024?",
    "how many rows of Shop 12 were over 90 euros?",
    "average amount of rent",
    "difference between food in 2023 and food in 2024",
    "which category cost the most?",
)


def large_csv(rows: int) -> bytes:
    """A CSV of so many rows of 50 bytes; its references are nearly all different."""
    rng = random.Random(rows)
    kinds, first = ("dog", "rent", "food", "car", "garden"), date(2023, 1, 1)
    days = [first + timedelta(day) for day in range(731)]
    lines = (
        f"{days[at * 731 // rows]},Shop {rng.randrange(40)},{kinds[rng.randrange(5)]},{rng.randrange(10_000) / 100:.2f}"
        f",ORDER-{rng.randrange(10**8):08d}-{at % 97:02d}-A"
        for at in range(rows)
    )
    return "\n".join(("Date,Shop,Category,Amount (EUR),Reference", *lines)).encode()


def peak_mb() -> float:
    """The most memory that this process had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def large_table(rows: int) -> list[Grid]:
    """What the ingest of a CSV of so many rows takes, and the processor's milliseconds of an answer on top of /ask."""
    body = large_csv(rows)
    with tempfile.TemporaryDirectory(prefix="ragdrop-tables-") as folder:
        documents = MemoryObjectStore("documents")
        settings = Settings.from_environment(SETTINGS | {"EMBEDDING_DIMENSION": "64"})
        key, queue = DocumentKey(TENANT, "large", "large.csv"), MemoryMessageQueue()
        reader = IsolatedReader()
        fakes = {
            "documents": documents,
            "embedder": HashingEmbedder(64),
            "queue": queue,
            "parser": ContentParser(reader),
        }
        app = compose(Ports(settings).replace(**stores_in_memory(Path(folder)) | fakes))
        app.operate.operator.create_tenant(TENANT)
        stored = documents.put(key.s3_key, body, media_type="text/csv", metadata={})
        began = peak_mb()
        seconds = ingest_large(app, queue, key, stored.size_bytes)
        reader.close()
        reader_mb = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        times, answered = answer_large(app)
    columns = ("rows", "MB", "invocations", "seconds, all", "longest (limit: 300)", "MB (limit: 1,769)", "reader's MB")
    sizes = [f"{rows:,}", f"{len(body) / 1e6:.0f}", str(len(seconds)), f"{sum(seconds):.0f}", f"{max(seconds):.0f}"]
    taken = Grid(columns, [[*sizes, f"{peak_mb():.0f}", f"{reader_mb:.0f}"]], f"Before ingest {began:.0f} MB.")
    shown = ("answered", "processor's ms on top of /ask, half", "worst (goal: 300)")
    half = sorted(times)[len(times) // 2]
    return [taken, Grid(shown, [[f"{answered} of {len(LARGE)}", f"{half:.0f}", f"{max(times):.0f}"]])]


def ingest_large(app: App, queue: MemoryMessageQueue, key: DocumentKey, size: int) -> list[float]:
    """The seconds of each invocation that a large document takes."""
    assert size <= MAX_OBJECT_BYTES
    messages, seconds = [delivery(Change(key.s3_key, "0001"))], []
    while messages:
        began = time.perf_counter()
        if app.ingest.reconcile(messages, Deadline.after(285)):
            sys.exit("the table was not indexed")
        seconds.append(time.perf_counter() - began)
        waiting, queue.continued = queue.continued, []
        messages = [delivery(Change(each.key, handed_over=each)) for each in waiting]
    return seconds


def answer_large(app: App) -> tuple[list[float], int]:
    """The least of three times that each question takes on top of its search, in ms, and how many are answered."""
    tables, caller = tables_of_app(app), Caller(TENANT, "admin")
    times, answered = [], 0
    for text in LARGE:
        asked = Question(Query(text))
        found = app.query.uncached_search(asked.query, caller, soon())
        fastest = math.inf
        for _ in range(4):
            began = time.process_time()
            given = tables(asked, caller, found, soon())
            fastest = min(fastest, time.process_time() - began)
        times.append(1000 * fastest)
        answered += given is not None and given.table is not None
    return times, answered


def main() -> int:
    parser = records.parser(__doc__)
    parser.add_argument("--rows", type=int, nargs="?", const=1_000_000, help="measure a table of so many rows instead")
    parser.add_argument("--set", choices=("second", "third", *ONLY_FINAL), help="another set than the first")
    parser.add_argument("--final", action="store_true", help="the half that nothing was tuned on")
    parser.add_argument("--vault", action="append", help="only this one; default: all of the half")
    parser.add_argument("--list", action="store_true", help="show the questions that went wrong")
    options = parser.parse_args()
    if options.rows:
        publish("tables_large", large_table(options.rows), write=options.write)
        return 0
    options.final = options.final or options.set in ONLY_FINAL
    half = "final" if options.final else "tuning"
    folder = truth.HERE / (options.set or "")
    vaults = list(dict.fromkeys(each["vault"] for each in truth.tables(folder).values() if each["half"] == half))
    if unknown := {*(options.vault or ())} - {*vaults}:
        parser.error(f"the {half} half has no vault {', '.join(sorted(unknown))}; it has {', '.join(vaults)}")
    if options.write and options.vault:
        parser.error("a record is of the whole: --write goes without --vault")
    with LocalEmbeddings() as model:
        asked = (asked_of(vault, folder, model, final=options.final) for vault in options.vault or vaults)
        outcomes = [each for some in asked for each in some]
    kinds: defaultdict[str, list[TableOutcome]] = defaultdict(list)
    for each in outcomes:
        kinds[each.kind].append(each)
    rows = [[kind, *figures(some)] for kind, some in kinds.items()]
    goals = ["goals", "95 %", "70 %", "at most 1 %", "90 %", "", "", "60"]
    grid = Grid(COLUMNS, [*rows, ["all", *figures(outcomes)], goals], f"The {half} half, without a language model.")
    publish("_".join(("tables", *filter(None, [options.set]), half)), [grid], write=options.write)
    if options.list:
        print(*(each for each in outcomes if each.failed), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
