"""What every test may use: the World, which is the composition root with fakes, and closed sockets for unit tests."""

from __future__ import annotations

import pytest
from hypothesis import settings
from pytest_socket import disable_socket, enable_socket

from tests.world import World

settings.register_profile("ragdrop", deadline=None)  # a busy machine is not a bug
settings.load_profile("ragdrop")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Unit and architecture tests open no sockets; the others may."""
    if any(part in {"unit", "architecture"} for part in item.path.parts):
        disable_socket(allow_unix_socket=True)
    else:
        enable_socket()


@pytest.fixture
def world() -> World:
    """A fresh world of fakes."""
    return World()
