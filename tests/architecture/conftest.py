"""The template, read once for every test of it."""

from __future__ import annotations

import pytest

from tests.architecture.cloudformation import Resource, read_template


@pytest.fixture(scope="session")
def template() -> Resource:
    """The whole template; nobody changes it."""
    return read_template()


@pytest.fixture(scope="session")
def resources(template: Resource) -> dict[str, Resource]:
    """Its resources by logical name."""
    found: dict[str, Resource] = template["Resources"]
    return found
