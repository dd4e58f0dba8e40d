"""What every test may use: the World, which is the composition root with fakes, and closed sockets for unit tests."""

from __future__ import annotations

import asyncio
import functools
import os
import re
import secrets
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from pytest_socket import disable_socket, enable_socket
from xdist.scheduler import LoadScopeScheduling

from tests.aws.call_shapes import RECORDING, SHAPES
from tests.endings import AT_THE_END
from tests.world import World

settings.register_profile("ragdrop", deadline=None)  # a busy machine is not a bug
settings.load_profile("ragdrop")

ROOT = Path(__file__).parents[1]

# Mangum makes an event loop where its thread has none, when it is made and when it is called, and leaves it open.
EVENT_LOOP = asyncio.new_event_loop()
asyncio.set_event_loop(EVENT_LOOP)
AT_THE_END.callback(EVENT_LOOP.close)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Unit and architecture tests open no sockets; the others may.  All have the run's one event loop.

    `asyncio.run` leaves its thread without one; what a fixture makes must find it too, so it is set before them.
    """
    asyncio.set_event_loop(EVENT_LOOP)
    if any(part in {"unit", "architecture", "readers", "groundcheck"} for part in item.path.parts):
        disable_socket(allow_unix_socket=True)
    else:
        enable_socket()


def pytest_configure() -> None:
    """Choose the seed of the random histories once, for all processes of a run."""
    os.environ.setdefault("RAGDROP_HISTORIES_SEED", str(secrets.randbelow(2**32)))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Name a failed test when it fails, not at the end of half an hour alone."""
    if report.failed and "PYTEST_XDIST_WORKER" not in os.environ:
        print(f"\n{report.when} failed: {report.nodeid}", file=sys.__stderr__, flush=True)


def pytest_report_header() -> str:
    """What to set to run the same random histories again."""
    return f"RAGDROP_HISTORIES_SEED={os.environ['RAGDROP_HISTORIES_SEED']}"


class ByNeed(LoadScopeScheduling):
    """What shares a node, a stack or a clone runs in one process, so that a run starts each only once and in order."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid) or nodeid


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByNeed:
    """Share tests out by what they need: pytest-xdist's own marks for it do nothing under pytest 9.2."""
    return ByNeed(config, log)


def group_of(nodeid: str) -> str | None:
    """The process that a test wants to share, None where any will do."""
    path = ROOT / nodeid.partition("::")[0]
    if "e2e" in path.parts:
        return "e2e"
    named = set(words(nodeid))
    if "integration" in path.parts:
        return "node" if {"opensearch", "stack"} <= named else stack_of(path)
    if "infrastructure" in named:
        return "infrastructure"  # one emulator, and one artifact of each tool
    if "browser" in path.parts:
        return "browser"  # one Chromium
    if "aws" in path.parts and {"runtime", "adapter"} & named:
        return "integration"  # its stack
    if "witness" in named:
        return "witness"
    if "emulator" in named and "contract" in path.parts:
        return "integration"  # its stack
    if {"opensearch", "reindex"} & named or (wants_a_node(path) and not {"memory", "bucket"} & named):
        return "node"
    return None


@functools.cache
def stack_of(path: Path) -> str | None:
    """The stack that a file's tests share with others, the file's own name where it starts one, None without any."""
    text = path.read_text("utf-8")
    if "running_stack(" in text or "run_launcher(" in text:
        return path.stem
    if "counted_stack" in text:
        return "counted"
    return "integration" if "stack" in text or "tenant" in text else None


@functools.cache
def wants_a_node(path: Path) -> bool:
    """Whether a test file asks for the OpenSearch node by itself."""
    return "tests.contract.opensearch_node" in path.read_text("utf-8")


def words(nodeid: str) -> list[str]:
    """The words of a test's name, those of its file and parameters too."""
    return re.findall(r"[a-z0-9]+", nodeid)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """A call of AWS that no page and no permission test knows of fails the test that made it first."""
    found, SHAPES.unknown = sorted(SHAPES.unknown), set()
    if found and RECORDING not in os.environ:
        told = "\n".join(found)
        pytest.fail(f"unknown calls of AWS; run `python -m benchmarks.parity --write`:\n{told}", pytrace=False)


def pytest_sessionfinish() -> None:
    """Stop what the tests of this process started, and keep which calls of AWS they made if asked to."""
    AT_THE_END.close()
    if RECORDING in os.environ:
        SHAPES.write(Path(os.environ[RECORDING]))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say in one line what was skipped and why, and what each exploration went through."""
    for report in terminalreporter.getreports("passed"):
        for name, told in report.user_properties:
            if name == "explored":
                terminalreporter.write_line(f"explored: {told}")
    reasons = Counter(
        str(report.longrepr[2]).removeprefix("Skipped: ") for report in terminalreporter.getreports("skipped")
    )
    if reasons:
        told = "; ".join(f"{count} because {reason}" for reason, count in reasons.most_common())
        terminalreporter.write_line(f"skipped: {told}")


@pytest.fixture
def world() -> World:
    """A fresh world of fakes."""
    return World()
