"""Questions in users' own words: the right document first and among three, abstentions, foreign questions answered.

    RAGDROP_EVAL_DATA=… python -m benchmarks.own_words [--final] [--write] [--vault NAME ...] [--list]

Four vaults, real ingest, search and ask with all settings at their defaults.  Questions with odd numbers are for
tuning, those with even numbers are for the final table only (`--final`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import records
from benchmarks.collections import Collection, CollectionDocument, data_folder
from benchmarks.embeddings import LocalEmbeddings
from benchmarks.pipeline import Pushed, pushed, soon
from benchmarks.records import Grid, publish
from ragdrop.domain.answers import Question
from ragdrop.domain.retrieval import Query
from ragdrop.query.fusion import content_words

HERE = Path(__file__).parent / "own_words"
SAMPLE_VAULT = Path(__file__).parents[1] / "localstack" / "sample-vault"
VAULTS = ("sample-vault", "fernseed", "workshop", "vault-nuget")
COLUMNS = (
    "vault",
    "questions",
    "shared words",
    "first",
    "among 3",
    "search abstains",
    "ask abstains",
    "foreign answered",
)


@dataclass(frozen=True, slots=True)
class OwnWordsOutcome:
    """What a question came to: place of the right document among the results from 0, None where it is not there."""

    question: str
    place: int | None
    search_abstained: bool
    ask_abstained: bool
    answer: str


def folder_of(vault: str) -> Path | None:
    """Where the documents of *vault* are; None where they are not here."""
    if vault == "sample-vault":
        return SAMPLE_VAULT
    if vault == "vault-nuget":
        data = data_folder()
        return data / vault if data else None
    return HERE / "folders" / vault


def questions_of(vault: str, *, final: bool) -> tuple[list[tuple[str, list[str]]], list[str]]:
    """Half of the questions with the documents that answer them, and of the foreign ones; the even if *final*."""
    foreign = (HERE / "questions" / f"{vault}-foreign.txt").read_text("utf-8").splitlines()
    return whole_list(vault)[final::2], foreign[final::2]


def whole_list(name: str) -> list[tuple[str, list[str]]]:
    """The questions of the list *name*, each with the documents that answer it."""
    lines = (HERE / "questions" / f"{name}.tsv").read_text("utf-8").splitlines()
    return [(text, paths.split(";")) for text, _, paths in (line.partition("\t") for line in lines)]


def documents_of(folder: Path) -> list[CollectionDocument]:
    files = sorted(path for path in folder.rglob("*") if path.suffix in {".md", ".txt"} and path.is_file())
    return [SourceFile(str(path.relative_to(folder)), "", path.read_text("utf-8", "replace")) for path in files]


class SourceFile(CollectionDocument):
    """A file that is pushed as it is; its id is its path."""

    @property
    def path(self) -> str:
        return self.id

    @property
    def markdown(self) -> str:
        return self.text


def asking(place: Pushed, required: Sequence[tuple[str, Sequence[str]]]) -> Iterator[OwnWordsOutcome]:
    for text, right in required:
        found = place.app.query.uncached_search(Query(text), place.caller, soon())
        paths = [document.key.path for document in found.documents]
        given = place.app.generate.ask(Question(Query(text)), place.caller, soon())
        at = next((at for at, path in enumerate(paths) if path in right), None)
        yield OwnWordsOutcome(text, at, found.abstained, given.abstain_reason is not None, given.text)


def shared_words(place: Pushed, required: Sequence[tuple[str, Sequence[str]]]) -> float:
    """The mean share of the content words of a question that the best chunk of its right documents holds."""
    values: dict[str, list[frozenset[str]]] = {}
    for hit in place.chunks({path for _, right in required for path in right}):
        values.setdefault(hit.key.path, []).append(content_words(f"{hit.facts.title}\n{hit.chunk.in_context}"))
    shares = []
    for text, right in required:
        words = content_words(text)
        chunks = [chunk for path in right for chunk in values.get(path, [])]
        shares.append(max((len(words & chunk) / max(1, len(words)) for chunk in chunks), default=0.0))
    return sum(shares) / max(1, len(shares))


def measure(
    vault: str, model: LocalEmbeddings, *, final: bool
) -> tuple[list[str], list[OwnWordsOutcome], list[OwnWordsOutcome]]:
    """A row of the table, and what became of each question and of each foreign one."""
    folder = folder_of(vault)
    assert folder is not None
    asked, others = questions_of(vault, final=final)
    texts = {str(number): text for number, text in enumerate([text for text, _ in asked] + others)}
    with pushed(Collection(vault, documents_of(folder), texts, {}, {}), model) as place:
        place.answer_locally()
        found = list(asking(place, asked))
        foreign = list(asking(place, [(text, []) for text in others]))
        share = shared_words(place, asked)
    return [vault, str(len(found)), f"{share:.0%}", *counted(found), counted_foreign(foreign)], found, foreign


def counted(found: Sequence[OwnWordsOutcome]) -> list[str]:
    within: Callable[[int], int] = lambda most: sum(one.place is not None and one.place < most for one in found)  # noqa: E731
    return [
        str(within(1)),
        str(within(3)),
        str(sum(one.search_abstained for one in found)),
        str(sum(one.ask_abstained for one in found)),
    ]


def counted_foreign(foreign: Sequence[OwnWordsOutcome]) -> str:
    return f"{sum(not one.ask_abstained for one in foreign)} of {len(foreign)}"


def main() -> int:
    parser = records.parser(__doc__)
    parser.add_argument("--final", action="store_true", help="the half that nothing was tuned on")
    parser.add_argument("--vault", action="append", choices=VAULTS, help="only this one; default: all")
    parser.add_argument("--list", action="store_true", help="show the questions that went wrong")
    options = parser.parse_args()
    if options.write and options.vault:
        parser.error("a record is of the whole: --write goes without --vault")
    rows, all_found, all_foreign = [], [], []
    with LocalEmbeddings() as model:
        for vault in options.vault or VAULTS:
            if folder_of(vault) is None:
                print(f"own_words: {vault} is skipped, RAGDROP_EVAL_DATA is not set", file=sys.stderr)
                continue
            row, found, foreign = measure(vault, model, final=options.final)
            rows.append(row)
            all_found += found
            all_foreign += foreign
    rows.append(["all", str(len(all_found)), "", *counted(all_found), counted_foreign(all_foreign)])
    half = "final" if options.final else "tuning"
    publish(f"own_words_{half}", [Grid(COLUMNS, rows, f"The {half} half.")], write=options.write)
    if options.list:
        for one in all_found:
            if one.place is None or one.place > 2 or one.ask_abstained:
                abstained = "S" * one.search_abstained + "A" * one.ask_abstained
                print(f"{one.place} {abstained} {one.question}")
        for one in all_foreign:
            if not one.ask_abstained:
                print(f"foreign: {one.question}: {one.answer[:160]!r}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
