"""Questions in users' own words: the right document first and among three, answers that hold the fact, abstentions.

    RAGDROP_EVAL_DATA=… python -m benchmarks.own_words [--final] [--write] [--vault NAME ...] [--list]

Real ingest, search and ask with all settings at their defaults, answered by the laptop's answerer and its reader.  A
question names the documents that answer it and the facts of which an answer must hold one.  Near questions only sound
as if the documents answered them; foreign ones are about nothing that is there.  Of four vaults questions with odd
numbers are for tuning, those with even numbers and all of two more vaults for the final table only (`--final`).
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
from groundcheck import STANDING
from ragdrop.domain.answers import Question
from ragdrop.domain.retrieval import Query
from ragdrop.query.fusion import content_words

HERE = Path(__file__).parent / "own_words"
SAMPLE_VAULT = Path(__file__).parents[1] / "localstack" / "sample-vault"
VAULTS = ("sample-vault", "fernseed", "workshop", "vault-nuget")
FINAL_VAULTS = ("household", "harbour-office")  # nothing was tuned on them
COLUMNS = (
    "vault",
    "questions",
    "shared words",
    "first",
    "among 3",
    "search abstains",
    "ask abstains",
    "holds the fact",
    "right, of those with both signs",
    "near answered",
    "foreign answered",
)
_MARKS = str.maketrans("", "", "*_`\\")


@dataclass(frozen=True, slots=True)
class OwnWordsOutcome:
    """What a question came to: place of the right document among the results from 0, None where it is not there.

    `holds` says whether the answer holds a fact; `signed` whether it is shown as true and as an answer.
    """

    question: str
    place: int | None
    search_abstained: bool
    ask_abstained: bool
    answer: str
    holds: bool = False
    signed: bool = False


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question, the documents that answer it, and the facts of which an answer holds one."""

    text: str
    right: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()


def folder_of(vault: str) -> Path | None:
    """Where the documents of *vault* are; None where they are not here."""
    if vault == "sample-vault":
        return SAMPLE_VAULT
    if vault == "vault-nuget":
        data = data_folder()
        return data / vault if data else None
    return HERE / "folders" / vault


def questions_of(vault: str, kind: str, *, final: bool) -> list[AskedQuestion]:
    """Half of the questions of a *kind*, the even ones if *final*: `own`, `near` or `foreign`; all of a final vault."""
    every = whole_list(vault) if kind == "own" else [AskedQuestion(text) for text in _lines(f"{vault}-{kind}.txt")]
    return every if vault in FINAL_VAULTS else every[final::2]


def whole_list(name: str) -> list[AskedQuestion]:
    """The questions of the list *name*, each with the documents that answer it, and facts where the list has them."""
    found = []
    for line in _lines(f"{name}.tsv"):
        text, paths, *facts = line.split("\t")
        found.append(AskedQuestion(text, tuple(paths.split(";")), tuple(facts[0].split(" | ")) if facts else ()))
    return found


def _lines(name: str) -> list[str]:
    return (HERE / "questions" / name).read_text("utf-8").splitlines()


def holds_fact(answer: str, facts: Sequence[str]) -> bool:
    r"""Whether *answer* holds one of *facts*; case, white space and the marks of Markdown aside.

    >>> holds_fact("Within **14\ndays**. [1]", ["14 days", "a fortnight"])
    True
    """
    said = _folded(answer)
    return any(_folded(fact) in said for fact in facts)


def _folded(text: str) -> str:
    return " ".join(text.translate(_MARKS).casefold().split())


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


def asking(place: Pushed, required: Sequence[AskedQuestion]) -> Iterator[OwnWordsOutcome]:
    for asked in required:
        found = place.app.query.uncached_search(Query(asked.text), place.caller, soon())
        paths = [document.key.path for document in found.documents]
        given = place.app.generate.ask(Question(Query(asked.text)), place.caller, soon())
        at = next((at for at, path in enumerate(paths) if path in asked.right), None)
        abstained = given.abstain_reason is not None
        stand = all(claim.status in STANDING or claim.status == "not_a_claim" for claim in given.claims)
        yield OwnWordsOutcome(
            asked.text,
            at,
            found.abstained,
            abstained,
            given.text,
            holds_fact(given.text, asked.facts),
            not abstained and stand and given.answers.status in {"yes", "unchecked"},
        )


def shared_words(place: Pushed, required: Sequence[AskedQuestion]) -> float:
    """The mean share of the content words of a question that the best chunk of its right documents holds."""
    values: dict[str, list[frozenset[str]]] = {}
    for hit in place.chunks({path for asked in required for path in asked.right}):
        values.setdefault(hit.key.path, []).append(content_words(f"{hit.facts.title}\n{hit.chunk.in_context}"))
    shares = []
    for asked in required:
        words = content_words(asked.text)
        chunks = [chunk for path in asked.right for chunk in values.get(path, [])]
        shares.append(max((len(words & chunk) / max(1, len(words)) for chunk in chunks), default=0.0))
    return sum(shares) / max(1, len(shares))


@dataclass(frozen=True, slots=True)
class VaultOutcomes:
    """What became of the questions of a vault, by kind."""

    own: list[OwnWordsOutcome]
    near: list[OwnWordsOutcome]
    foreign: list[OwnWordsOutcome]

    def __add__(self, other: VaultOutcomes) -> VaultOutcomes:
        return VaultOutcomes(self.own + other.own, self.near + other.near, self.foreign + other.foreign)


def measure(vault: str, model: LocalEmbeddings, *, final: bool) -> tuple[list[str], VaultOutcomes]:
    """A row of the table, and what became of each question."""
    folder = folder_of(vault)
    assert folder is not None
    own, near, foreign = (questions_of(vault, kind, final=final) for kind in ("own", "near", "foreign"))
    texts = {str(number): asked.text for number, asked in enumerate([*own, *near, *foreign])}
    with pushed(Collection(vault, documents_of(folder), texts, {}, {}), model) as place:
        place.answer_locally()
        found = VaultOutcomes(*(list(asking(place, some)) for some in (own, near, foreign)))
        share = shared_words(place, own)
    return [vault, str(len(own)), f"{share:.0%}", *counted(found)], found


def counted(found: VaultOutcomes) -> list[str]:
    within: Callable[[int], int] = lambda most: sum(one.place is not None and one.place < most for one in found.own)  # noqa: E731
    signed = [one for one in (*found.own, *found.near, *found.foreign) if one.signed]
    answered: Callable[[Sequence[OwnWordsOutcome]], str] = lambda some: (  # noqa: E731
        f"{sum(not one.ask_abstained for one in some)} of {len(some)}"
    )
    return [
        str(within(1)),
        str(within(3)),
        str(sum(one.search_abstained for one in found.own)),
        str(sum(one.ask_abstained for one in found.own)),
        str(sum(one.holds for one in found.own)),
        f"{sum(one.holds for one in signed)} of {len(signed)}",
        answered(found.near),
        answered(found.foreign),
    ]


def main() -> int:
    parser = records.parser(__doc__)
    parser.add_argument("--final", action="store_true", help="the half that nothing was tuned on")
    parser.add_argument(
        "--vault", action="append", choices=(*VAULTS, *FINAL_VAULTS), help="only this one; default: all"
    )
    parser.add_argument("--list", action="store_true", help="show the questions that went wrong")
    options = parser.parse_args()
    if options.write and options.vault:
        parser.error("a record is of the whole: --write goes without --vault")
    rows, every = [], VaultOutcomes([], [], [])
    with LocalEmbeddings() as model:
        for vault in options.vault or (*VAULTS, *(FINAL_VAULTS if options.final else ())):
            if folder_of(vault) is None:
                print(f"own_words: {vault} is skipped, RAGDROP_EVAL_DATA is not set", file=sys.stderr)
                continue
            row, found = measure(vault, model, final=options.final)
            rows.append(row)
            every += found
    rows.append(["all", str(len(every.own)), "", *counted(every)])
    half = "final" if options.final else "tuning"
    publish(f"own_words_{half}", [Grid(COLUMNS, rows, f"The {half} half.")], write=options.write)
    if options.list:
        show_wrong(every)
    return 0


def show_wrong(found: VaultOutcomes) -> None:
    """Print what went wrong: the place of the right document, who abstained, and what was answered."""
    for one in found.own:
        if not one.holds:
            abstained = "S" * one.search_abstained + "A" * one.ask_abstained
            print(f"{one.place} {abstained or '-'} {one.question}: {one.answer[:160]!r}")
    for kind in ("near", "foreign"):
        for one in getattr(found, kind):
            if not one.ask_abstained:
                print(f"{kind}: {one.question}: {one.answer[:160]!r}")


if __name__ == "__main__":
    sys.exit(main())
