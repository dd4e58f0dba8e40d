"""`ragdrop doctor`, `stats` and `GET /health` on the running stack."""

from __future__ import annotations

import json

import pytest

from tests.integration.commands import Tenant
from tests.stacks import LocalStack


@pytest.fixture(scope="module")
def tenant(stack: LocalStack) -> Tenant:
    return Tenant.created(stack, "doctor")


def test_doctor_finds_a_fresh_stack_well_and_its_canary_comes_and_goes(tenant: Tenant) -> None:
    done = tenant.ragdrop("doctor", "--json", timeout_s=300)
    steps = {each["step"]: each for each in json.loads(done.stdout)["steps"]}

    assert done.returncode == 0, done.stdout
    assert [name for name, each in steps.items() if each["verdict"] == "failed"] == []
    assert steps["canary"]["detail"] == "put, found, cited, deleted, gone"
    assert steps["wiring"]["verdict"] in {"ok", "warning"}  # other tests may leave dead letters
    assert steps["embeddings"]["detail"].startswith("5 vectors of 384 dimensions, norm 1.000")
    assert max(each["took_ms"] for each in steps.values()) < 30_000


def test_health_learns_of_every_dependency_of_the_stack(tenant: Tenant) -> None:
    found = tenant.get("/health", deep="1")
    told = {name: each["status"] for name, each in found["dependencies"].items()}

    assert found["status"] == "healthy", told
    assert set(told.values()) == {"healthy"}


def test_figures_can_be_read_of_the_stack(tenant: Tenant) -> None:
    done = tenant.ragdrop("stats", "1h", "--json")
    found = json.loads(done.stdout)

    assert done.returncode == 0, done.stderr
    assert found["time_range"] == "1h"
    assert isinstance(found["total_documents"], int)
