"""A newcomer with a clone of this repository, for all tests of this folder that want one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.documented import ROOT, block_under
from tests.e2e.newcomer import Newcomer, Typed

README = ROOT / "README.md"


@pytest.fixture(scope="session")
def newcomer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Newcomer]:
    """A fresh clone with nothing in it; whatever was started in it is stopped at the end.

    RAGDROP_CLONE names a clone to use instead, whose stack may run and is left running: for whoever writes docs.
    """
    folder = tmp_path_factory.mktemp("newcomer")
    named = os.environ.get("RAGDROP_CLONE")
    if named:
        yield Newcomer(Path(named).resolve(), folder / "home")
        return
    newcomer = Newcomer.cloned(folder)
    yield newcomer
    newcomer.types("make down")


@pytest.fixture(scope="session")
def first_session(newcomer: Newcomer) -> list[Typed]:
    """What the README says to type first: two commands, then one's own notes and a question about them."""
    two, own = block_under(README, "## Two commands"), block_under(README, "## Your own notes")
    return [newcomer.types(line) for line in (*two.commands, *own.commands[:2])]
