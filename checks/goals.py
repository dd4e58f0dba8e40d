"""The goals of the second rebuild of the house, compared with the code: `python -m checks.goals` prints the table.

It fails if docs/evidence/house.md misleads: a row is missing, its goal is now met or missed, or its figure has moved by
more than TOLERANCE; `--write` writes that page.  How each row is counted is part of the page.  The figures of commit
73baed3 were counted in the same way.
"""

from __future__ import annotations

import ast
import logging
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from checks import walk
from checks.import_graph import Graph, read_graph

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/evidence/house.md"
LAYERS = ROOT / "layers"
TOLERANCE = 0.02  # share of a figure by which it may differ from the page
SMALL = 2  # and the difference that a count may have at any size
RAGDROP = LAYERS / "common/python/ragdrop"
HEAD = """# The house, measured

The second rebuild of the house adds no feature: it makes the program smaller and easier to walk. This page compares the
code with its goals and with commit 73baed3, for which they were set. `python -m checks.goals --write` writes it. CI
fails if a goal is now met or missed and the page says otherwise, or if a figure has moved by more than 2 % and by more
than 2.

"""
COUNTED = """
## How it is counted

- **Lines** are all lines of Python files, blank ones and docstrings too. `localstack/` is counted without the failure
  drill, which is in `tests/faults`; at 73baed3 the drill was part of it.
- **Before the first definition**: the lines of a module before its first class, function or constant, as a share of all
  lines of `layers/`.
- **One importer**: modules of the layer that exactly one other module imports, `if TYPE_CHECKING` and imports inside
  functions included.
- **Entered, frames**: modules of the layer that one request enters over the fakes of the tests, and the largest number
  of their functions on one stack (`python -m checks.walk`).
- **Public types**: classes without a leading underscore in the modules that `query/search.py` (`ingest/reconcile.py`)
  reaches by imports, itself included and `errors` left out.
- **Parameters** of `template.yaml`.
"""


@dataclass(frozen=True, slots=True)
class Goal:
    """One row; `missed` explains why the goal is not met, and is left out of the page if it is."""

    what: str
    before: float
    now: float
    goal: float
    missed: str = ""
    unit: str = ""

    @property
    def met(self) -> bool:
        """Whether the goal is met."""
        return self.now <= self.goal

    def row(self) -> str:
        """The row of the table."""
        cells = [self._shown(value) for value in (self.before, self.now, self.goal)]
        return f"| {self.what} | {' | '.join(cells)} | {'met' if self.met else self.missed} |"

    def stale(self, page: str) -> str:
        """What the *page* reports otherwise, empty if its row still holds.

        >>> goal = Goal("modules", 90, 52, 50, "why")
        >>> goal.stale("| modules | 90 | 54 | 50 | why |"), goal.stale("| modules | 90 | 49 | 50 | met |")
        ('', 'modules: met on the page, missed now (52, goal 50)')
        """
        cell = r"[^|]* \|"
        row = re.search(rf"^\| {re.escape(self.what)} \|{cell} ([\d,.]+){cell}{cell} (.*) \|$", page, re.MULTILINE)
        if row is None:
            return f"{self.what}: not on the page"
        if (row[2] == "met") != self.met:
            old, new = ("met", "missed") if row[2] == "met" else ("missed", "met")
            return f"{self.what}: {old} on the page, {new} now ({self._shown(self.now)}, goal {self._shown(self.goal)})"
        figure = float(row[1].replace(",", ""))
        if abs(self.now - figure) > max(TOLERANCE * figure, 0 if self.unit else SMALL):
            return f"{self.what}: {self._shown(figure)} on the page, {self._shown(self.now)} now"
        return ""

    def _shown(self, value: float) -> str:
        return f"{value:,.{1 if self.unit else 0}f}{self.unit}"


@dataclass(frozen=True, slots=True)
class TimedGoal:
    """One row of what takes a machine to measure; it is on the page once it has a value."""

    what: str
    goal: str
    value: str = ""
    when: str = ""


# What no script counts: whoever measures it writes the value and when it was measured, then `--write`.
MEASURED = (
    TimedGoal("`make test` on 2 cores, minutes", "8", "8.0", "November 2026, alone on the machine"),
    TimedGoal("`.ci/run` on 2 cores, minutes", "35", "32.3", "November 2026, from a clean clone"),
    TimedGoal("`make demo` from a clone, seconds", "75", "52", "November 2026, alone on the machine"),
)


# Why a goal is missed, by the text of its row.
MISSED = {
    "lines in `layers/`": "Features take it up by more than merging takes it down.",
    "of them in `ragdrop/`": "The libraries left it; routes, stores and the life cycle of a document all stay.",
    "lines in `cli/`": "Each command prints for people and for programs, and none was removed.",
    "lines in `localstack/`": "Start, attach and the local models are all needed on a laptop.",
    "lines in `benchmarks/`": "What is settled is deleted; the rest measures what later changes are compared with.",
    "lines before the first definition": "Most of these lines are imports, a line for each module that is used.",
    "modules in `layers/`": "A module has one subject; further merges would join subjects.",
    "modules with one importer": "Only `app` imports the adapters, and most others are one step of a reader or route.",
    "modules entered by a search": "A search passes the checks of key, scope and limits, and a guard a dependency.",
    "frames of a search": "The layers of the API and the guards around a dependency are frames.",
    "modules entered by an ask": "An ask is a search, then a prompt, a model and the check of each sentence.",
    "frames of an ask": "As for a search, with the stream of the model around it.",
    "public types on the path of a search": "A module counts with all of its types, used or not.",
    "public types on the path of an ingest": "A module counts with all its types; two thirds are values and ports.",
    "parameters of the template": "Not all settings have moved to the settings document.",
}


def goals() -> list[Goal]:
    """Every goal with today's figure."""
    graph = read_graph()
    logging.disable(logging.CRITICAL)  # the answers that are walked log to stdout
    walks = walk.measure()
    figures: list[tuple[str, float, float, float, str]] = [
        ("lines in `layers/`", 46_354, lines(LAYERS), 40_000, ""),
        ("of them in `ragdrop/`", 46_354, lines(RAGDROP), 28_500, ""),
        ("lines in `cli/`", 5_305, lines(ROOT / "cli"), 4_500, ""),
        ("lines in `localstack/`", 5_863, lines(ROOT / "localstack"), 4_000, ""),
        ("lines in `benchmarks/`", 15_859, lines(ROOT / "benchmarks"), 9_000, ""),
        ("lines before the first definition", 11.5, header_share(modules(LAYERS)), 8.0, " %"),
        ("modules in `layers/`", 321, len(modules(LAYERS)), 220, ""),
        ("modules with one importer", 83, single_importers(graph), 25, ""),
        ("modules entered by a search", 58, len(walks["search"].modules), 40, ""),
        ("frames of a search", 23, walks["search"].frames, 15, ""),
        ("modules entered by an ask", 86, len(walks["ask"].modules), 60, ""),
        ("frames of an ask", 27, walks["ask"].frames, 18, ""),
        ("public types on the path of a search", 161, public_types(graph, "query.search"), 100, ""),
        ("public types on the path of an ingest", 151, public_types(graph, "ingest.reconcile"), 70, ""),
        ("parameters of the template", 59, parameters(), 40, ""),
    ]
    return [Goal(what, before, now, goal, MISSED.get(what, ""), unit) for what, before, now, goal, unit in figures]


def modules(folder: Path) -> list[Path]:
    """The Python files below *folder*."""
    return sorted(folder.rglob("*.py"))


def lines(folder: Path) -> int:
    """Lines of all Python files below *folder*."""
    return sum(len(path.read_text("utf-8").splitlines()) for path in modules(folder))


def header_share(paths: Iterable[Path]) -> float:
    """Per cent of the lines of modules that stand before their first definition."""
    before = whole = 0
    for path in paths:
        text = path.read_text("utf-8")
        count = len(text.splitlines())
        whole += count
        before += header_lines(text, count)
    return 100 * before / whole


def header_lines(text: str, count: int) -> int:
    """How many of the *count* lines of a module stand before its first class, function or constant.

    >>> header_lines("import os" + chr(10) * 2 + "LIMIT = 3", 3)
    2
    """
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign):
            decorators = getattr(node, "decorator_list", [])
            first: int = min([node.lineno, *(each.lineno for each in decorators)])
            return first - 1
    return count


def single_importers(graph: Graph) -> int:
    """How many modules exactly one other module imports."""
    importers = graph.importers()
    return sum(len(importers.get(module, ())) == 1 for module in graph.modules)


def public_types(graph: Graph, module: str) -> int:
    """Public classes in *module* and in all that it reaches by imports, but for `errors`."""
    return sum(
        isinstance(node, ast.ClassDef) and not node.name.startswith("_")
        for name in {module, *graph.closure(module)} - {"errors"}
        for node in ast.parse(graph.modules[name].read_text("utf-8")).body
    )


def parameters() -> int:
    """How many parameters the template has."""
    template = (ROOT / "template.yaml").read_text("utf-8")
    section = re.search(r"^Parameters:\n(.*?)^(?=\S)", template, re.DOTALL | re.MULTILINE)
    return len(re.findall(r"^  \w+:", section[1], re.MULTILINE)) if section else 0


def page(found: Iterable[Goal], measured: Iterable[TimedGoal] = MEASURED) -> str:
    """The whole page."""
    table = [
        "| what | at 73baed3 | today | goal | met, or why not |",
        "|---|---|---|---|---|",
        *(each.row() for each in found),
    ]
    rows = [f"| {each.what} | {each.value} | {each.goal} | {each.when} |" for each in measured if each.value]
    if rows:
        table += ["", "## Measured", "", "| what | value | goal | measured |", "|---|---|---|---|", *rows]
    return HEAD + "\n".join(table) + "\n" + COUNTED


def main(arguments: list[str]) -> int:
    """Print the page, or write it; 1 if the page is stale, or a missed goal has no explanation."""
    found = goals()
    text = page(found)
    print(text)
    faults = [f"{each.what}: missed and not explained" for each in found if not each.met and not each.missed]
    if "--write" in arguments:
        PAGE.write_text(text, "utf-8")
    else:
        faults += [stale for each in found if (stale := each.stale(PAGE.read_text("utf-8")))]
    for fault in faults:
        print(fault, file=sys.stderr)
    if faults:
        print("docs/evidence/house.md is written by: .venv/bin/python -m checks.goals --write", file=sys.stderr)
    return int(bool(faults))


if __name__ == "__main__":
    sys.path[:0] = [str(LAYERS / "common/python"), str(ROOT / "cli"), str(ROOT)]
    sys.exit(main(sys.argv[1:]))
