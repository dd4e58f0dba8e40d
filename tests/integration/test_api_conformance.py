"""schemathesis, all its checks, on the whole API over a World: no 5xx, nothing undocumented, no wrong reply."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from ragdrop.api.apis import query_api
from tests.agent_world import eager_world, key_of
from tests.served import served
from tests.stacks import REPOSITORY

pytestmark = pytest.mark.long

SCHEMATHESIS = REPOSITORY / ".local/env/schemathesis/bin/schemathesis"
CONFIGURATION = Path(__file__).parent / "schemathesis.toml"
EXAMPLES = {"writer": 20, "reader": 5, "nobody": 1}  # random cases of each operation, beside those of its limits
WANTED_CASES = 2_000  # in all: acceptance 2 of the surfaces
TIMEOUT_S = 300


@dataclass(frozen=True)
class Run:
    """What a run says of itself."""

    returncode: int
    output: str
    cases: int


def run(who: str, folder: Path) -> Run:
    """Try every operation with the key of *who*, on a service of its own."""
    world = eager_world()
    world.put("team/pump.md", "# Pump\n\nThe pump's code is QX-5521.", doc_type="tool")
    key = {"nobody": None}.get(who) or (key_of(world, "writer" if who == "writer" else "reader"))
    headers = [] if who == "nobody" else ["--header", f"x-api-key: {key}"]
    environment = {"PATH": os.environ.get("PATH", ""), "HOME": str(folder), "NO_PROXY": "*", "LANG": "C.UTF-8"}
    with served(query_api(world.app)) as url:
        command = [str(SCHEMATHESIS), "--config-file", str(CONFIGURATION), "run", f"{url}/openapi.json", *headers]
        command += ["--checks", "all", "--max-examples", str(EXAMPLES[who]), "--seed", "5521", "--continue-on-failure"]
        command += ["--report", "json", "--report-dir", str(folder), "--no-color"]
        done = subprocess.run(
            command, env=environment, cwd=folder, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
    [report] = folder.glob("*.json")
    return Run(done.returncode, done.stdout + done.stderr, cases_of(json.loads(report.read_text("utf-8"))))


def cases_of(report: dict[str, object]) -> int:
    return int(report["test_cases"]["generated"])  # type: ignore[index]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    assert SCHEMATHESIS.is_file(), "make setup makes its environment"
    return {who: run(who, tmp_path_factory.mktemp(who)) for who in EXAMPLES}


@pytest.mark.parametrize("who", EXAMPLES)
def test_every_reply_is_as_the_document_says(runs: dict[str, Run], who: str) -> None:
    assert runs[who].returncode == 0, runs[who].output[-6_000:]


def test_enough_cases_were_tried(runs: dict[str, Run]) -> None:
    assert sum(each.cases for each in runs.values()) >= WANTED_CASES
