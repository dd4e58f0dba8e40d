"""Permissions: what rules and groups add to a search, beside a commit that has none, and what narrow groups find.

    python -m benchmarks.permissions [--before COMMIT] [--documents N] [--searches N]

Both commits run at once, each in a process over moto and its bucket index, and take turns of five searches.  Units
follow tests/functions/request_counter.py.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import records

ROOT = Path(__file__).resolve().parents[1]
BEFORE = "17049424"  # the commit before permissions
BLOCK = 5  # searches of one turn
CHILD = r"""
import json, sys, tempfile, time
from pathlib import Path
import pytest
from moto import mock_aws
from tests.functions.costs import CountedDeployment, page
documents, ruled = int(sys.argv[1]), sys.argv[2] == "ruled"
with pytest.MonkeyPatch.context() as environ, mock_aws(), tempfile.TemporaryDirectory() as folder:
    service = CountedDeployment(Path(folder), environ, CACHE_TTL_S="0")
    if ruled:
        rules = [{"path": f"hr{n}/**", "groups": [f"hr{n}"]} for n in range(20)]
        service.put_object("demo/team/.ragdrop.json", json.dumps({"access": rules}))
    def write(n):
        stated = "---\naccess: [staff]\n---\n" if ruled and n % 10 == 1 else ""
        folder = "open" if n % 10 < 2 else f"hr{n % 20}"
        return service.write(f"team/{folder}/{n}.md", stated + page(n))
    for first in range(0, documents, 10):
        service.arrive(*[write(n) for n in range(first, first + 10)])
    operator = service.handlers["query"].app.operate.operator
    groups = {"groups": ["staff"]} if ruled else {}
    admin, service.key = service.key, operator.create_key("demo", "reader", **groups)[0]
    sys.stdout.write(json.dumps({"ready": True}) + "\n"); sys.stdout.flush()
    for line in sys.stdin:
        asked = json.loads(line)
        key, service.key = service.key, admin if asked.get("admin") else service.key
        cpu, wall, found = [], [], []
        with service.counter.counting() as usage:
            for text in asked["texts"]:
                at, used = time.perf_counter(), time.process_time()
                found.append(service.search(text, limit=10, min_relevance=0, follow_links=False))
                wall.append((time.perf_counter() - at) * 1000); cpu.append((time.process_time() - used) * 1000)
        service.key = key
        units = usage.read_units / len(asked["texts"])
        sys.stdout.write(json.dumps({"cpu": cpu, "wall": wall, "units": units, "found": found}) + "\n")
        sys.stdout.flush()
"""


class Child:
    """A process that searches as a commit does."""

    def __init__(self, tree: Path, documents: int, kind: str) -> None:
        paths = (tree / "layers/common/python", tree / "cli", tree)
        environ = {**os.environ, "PYTHONPATH": ":".join(map(str, paths))}
        command = [sys.executable, "-c", CHILD, str(documents), kind]
        self._process = subprocess.Popen(command, cwd=tree, env=environ, text=True, stdin=-1, stdout=-1, stderr=-3)  # noqa: S603
        self._answer()

    def search(self, texts: Sequence[str], *, admin: bool = False) -> dict[str, Any]:
        """What came of a search for each of *texts*."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"texts": texts, "admin": admin}) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def close(self) -> None:
        """End the process."""
        self._process.communicate()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        for line in self._process.stdout:  # logs and metrics stand there too
            if line.startswith(('{"ready"', '{"cpu"')):
                return dict(json.loads(line))
        raise RuntimeError("a process of the benchmark ended early")


@contextmanager
def tree_of(commit: str) -> Iterator[Path]:
    """A work tree of a commit, with the environment of this one."""
    with tempfile.TemporaryDirectory(prefix="ragdrop-before-") as folder:
        tree = Path(folder) / "tree"
        subprocess.run(["git", "worktree", "add", "--detach", "-q", str(tree), commit], cwd=ROOT, check=True)  # noqa: S603, S607
        try:
            yield tree
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(tree)], cwd=ROOT, check=True)  # noqa: S603, S607


def measure(before: str, documents: int, searches: int) -> dict[str, Any]:
    """Milliseconds and read units of a search, by kind; what a narrow caller finds of what it may read."""
    with tree_of(before) as tree:
        children = {
            "before": Child(tree, documents, "open"),
            "no rules": Child(ROOT, documents, "open"),
            "20 rules, reader": Child(ROOT, documents, "ruled"),
        }
        found: dict[str, dict[str, list[Any]]] = {name: {"cpu": [], "wall": [], "units": []} for name in children}
        texts = [f"step of part {n} with steelvalve copperpump {n % 7}" for n in range(searches + BLOCK)]
        for first in range(0, len(texts), BLOCK):
            for name, child in children.items():
                done = child.search(texts[first : first + BLOCK])
                if first:  # the first turn warms up
                    found[name]["cpu"] += done["cpu"]
                    found[name]["wall"] += done["wall"]
                    found[name]["units"].append(done["units"])
        ruled = children["20 rules, reader"]
        narrow = ruled.search(texts[:20])["found"]
        whole = ruled.search(texts[:20], admin=True)["found"]
        for child in children.values():
            child.close()
    shares = [min(1.0, len(one) / 10) for one in narrow]
    hidden = sum(not path.startswith("open/") for one in narrow for path in one)
    return {
        "documents": documents,
        "searches": searches,
        "rows": {
            name: {kind: round(median(each), 3) for kind, each in values.items()} for name, values in found.items()
        },
        "readable": 0.2,
        "full": round(sum(shares) / len(shares), 3),
        "hidden": hidden,
        "seen_by_admin": round(sum(len(one) for one in whole) / len(whole), 1),
    }


def permissions_table(results: Mapping[str, Any]) -> str:
    """Milliseconds and read units of a search, by kind."""
    heads = ("search", "processor ms", "ms", "read units")
    rows = [(name, *(f"{each[kind]:g}" for kind in ("cpu", "wall", "units"))) for name, each in results["rows"].items()]
    return (
        f"{results['documents']} documents, {results['searches']} searches of each kind in turns, medians.\n\n"
        f"{records.markdown(heads, rows)}\n\n"
        f"A reader of a fifth of them got {results['full']:.0%} of the ten documents asked for, "
        f"{results['hidden']} of them hidden."
    )


def main() -> int:
    """Measure, keep the record, print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", default=BEFORE)
    parser.add_argument("--documents", type=int, default=200)
    parser.add_argument("--searches", type=int, default=100)
    options = parser.parse_args()
    found = measure(options.before, options.documents, options.searches)
    print(permissions_table(found))
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
