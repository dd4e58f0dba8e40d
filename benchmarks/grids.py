"""Tables as a benchmark measured them: their cells are kept as its record, and one renderer shows them all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

from benchmarks import records
from ragdrop import __version__


@dataclass(frozen=True, slots=True)
class Grid:
    """A table; *note* is a paragraph behind it."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


def shown(grids: Iterable[Mapping[str, Any]]) -> str:
    """The grids of a record as Markdown.

    >>> print(shown([{"columns": ["what", "seen"], "rows": [["a", "1"]], "note": "Twice."}]))
    | what | seen |
    |---|---|
    | a | 1 |
    <BLANKLINE>
    Twice.
    """
    return "\n\n".join(part for grid in grids for part in (_table(grid["columns"], grid["rows"]), grid["note"]) if part)


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head, *body = (f"| {' | '.join(cells)} |" for cells in (columns, *rows))
    return "\n".join([head, f"|{'---|' * len(columns)}", *body])


def tell(benchmark: str, grids: Sequence[Grid], *packages: str, write: bool, **versions: str) -> None:
    """Print the grids, and keep them as the record of *benchmark* if asked to *write*.

    The record names the versions of ragdrop, of these *packages* and of what *versions* adds.
    """
    results = [asdict(grid) for grid in grids]
    if write:
        told = {"ragdrop": __version__} | {name: version(name) for name in packages} | versions
        records.keep(benchmark, results, told)
    print(shown(results))
