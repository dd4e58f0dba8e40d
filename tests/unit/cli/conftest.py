"""Fixtures of the command line's tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.cli.world import CommandLine, FakeApi


@pytest.fixture
def api() -> FakeApi:
    return FakeApi()


@pytest.fixture
def ragdrop(api: FakeApi, tmp_path: Path) -> CommandLine:
    return CommandLine(api, tmp_path)
