"""A newcomer with a clone of this repository, for all tests of this folder that want one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.newcomer import Newcomer


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
