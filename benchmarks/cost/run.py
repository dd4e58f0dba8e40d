"""Count what each operation asks of AWS, with both indexes, and write what says so.

    python -m benchmarks.cost [--write]

The real handlers run over moto, and every request of the SDK is counted. OpenSearch needs a node: that of
RAGDROP_OPENSEARCH_URL, or one that is started (a JDK 21 and Maven). `tests/functions/test_costs.py` counts again: when
it fails, a request came or went, and this command writes docs/cost.md and the numbers of `ragdrop stats --cost`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import pytest

from benchmarks import records
from benchmarks.cost.counter import Usage
from benchmarks.cost.table import cost_table
from benchmarks.cost.usages import kept, read, with_units
from benchmarks.peers.node import shared_node
from tests.functions.costs import count_operations, counted_service, opensearch_settings

UNIT_COSTS = Path(__file__).resolve().parents[2] / "layers/common/python/ragdrop/operate/costs.py"
PACKAGES = ("moto", "boto3", "opensearch-py")


def counted(url: str | None) -> dict[str, Usage]:
    """The usages of all operations over the bucket index, or over the OpenSearch node at *url*."""
    changes = opensearch_settings(url) if url else {}
    with (
        pytest.MonkeyPatch.context() as environ,
        tempfile.TemporaryDirectory() as folder,
        counted_service(Path(folder), environ, **changes) as service,
    ):
        return count_operations(service)


def main() -> int:
    """Count, print, keep and write if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="keep the counts and write docs/cost.md")
    options = parser.parse_args()
    with shared_node() as url:
        results = {"bucket": kept(counted(None)), "opensearch": kept(counted(url))}
    if not options.write:
        print(cost_table(results))
        return 0
    UNIT_COSTS.write_text(with_units(UNIT_COSTS.read_text("utf-8"), read(results)), "utf-8")
    records.keep("cost", results, {name: version(name) for name in PACKAGES})
    return subprocess.run([sys.executable, "-m", "benchmarks.report", "--write"], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
