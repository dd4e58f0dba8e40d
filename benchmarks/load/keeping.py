"""Keeps what a load or a soak measured: the record, the plots, and the pages that are made from records."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks import records, report
from benchmarks.plots import draw
from localstack.home import REPOSITORY
from localstack.opensearch.assembly import DEFAULT_RELEASE
from ragdrop import __version__

DRAWN = ("samples", "memory")  # too much for a record


def keep(benchmark: str, found: Mapping[str, Any]) -> None:
    """Keep the record of a run that just ended, and write the pages."""
    versions = {"ragdrop": __version__} | locked("ministack", "locust")
    if found.get("index") != "bucket":
        versions["OpenSearch"] = DEFAULT_RELEASE
    records.keep(benchmark, {name: value for name, value in found.items() if name not in DRAWN}, versions)
    for path, text in report.pages().items():
        (report.ROOT / path).write_text(text, "utf-8")


def plot(found: Mapping[str, Any]) -> None:
    """Draw the plots of a load, by the environment that has matplotlib."""
    with tempfile.TemporaryDirectory(prefix="ragdrop-plot-") as folder:
        file = Path(folder) / "figures.json"
        file.write_text(json.dumps({name: found[name] for name in DRAWN}), "utf-8")
        draw("benchmarks.load.plot", str(file), str(REPOSITORY / "docs"))


def locked(*packages: str) -> dict[str, str]:
    """The locked version of each package that is asked for, from requirements/."""
    lines = [
        line for file in sorted((REPOSITORY / "requirements").glob("*.txt")) for line in file.read_text().splitlines()
    ]
    pinned = dict(line.split(" ")[0].split("==") for line in lines if "==" in line.split(" ")[0])
    return {name: pinned[name].partition("[")[0] for name in packages if name in pinned}
