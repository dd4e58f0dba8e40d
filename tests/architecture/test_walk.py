"""Golden counts: how many modules a request enters and how many frames deep it goes.

A change that raises one of these says why in its commit; one that lowers it lowers the number here.  `checks/walk.py`
explains how they are counted, and prints the modules and the deepest stack: `python -m checks.walk search`.
"""

from __future__ import annotations

import pytest

from checks.walk import KINDS, Walk, measure

MODULES = {"search": 41, "ask": 65, "ingest": 32}
FRAMES = {"search": 16, "ask": 20, "ingest": 18}


@pytest.fixture(scope="module")
def walks() -> dict[str, Walk]:
    return measure()


@pytest.mark.parametrize("kind", KINDS)
def test_a_request_enters_no_more_modules(walks: dict[str, Walk], kind: str) -> None:
    assert len(walks[kind].modules) <= MODULES[kind], sorted(walks[kind].modules)


@pytest.mark.parametrize("kind", KINDS)
def test_a_request_goes_no_deeper(walks: dict[str, Walk], kind: str) -> None:
    assert walks[kind].frames <= FRAMES[kind], walks[kind].deepest


def test_the_walk_begins_where_a_request_does(walks: dict[str, Walk]) -> None:
    assert "ragdrop/query/search.py" in walks["search"].modules & walks["ask"].modules
    assert {"ragdrop/ingest/reconcile.py", "ragdrop/domain/keys.py"} <= walks["ingest"].modules
