"""What the functions ask of AWS is allowed to their roles: every test of a Deployment holds it, these the rest."""

from __future__ import annotations

import time

import pytest

from ragdrop.errors import DatabaseError
from tests.functions.conftest import Deployment, LocalContext

DAY_S = 86_400
PUMP, VALVE = "demo/handbook/pump.md", "demo/handbook/valve.md"


@pytest.fixture
def linked(deployment: Deployment) -> Deployment:
    """Two documents, of which only the first is found and leads to the second."""
    deployment.put_object(PUMP, "# Pump\n\nThe pump's code is QX-5521. Its [valve](valve.md) is spare.")
    deployment.put_object(VALVE, "# Valve\n\nMarzipan.")
    return deployment


@pytest.mark.parametrize("function", ["query", "generate"])
def test_a_session_may_remember_what_it_has_followed(linked: Deployment, function: str) -> None:
    linked.chat.reply = "The pump's code is QX-5521. [1]"

    for _ in range(2):
        status, _ = linked.post(function, {"query": "code QX-5521", "limit": 1, "session": "s1", "min_relevance": 0})
        assert status == 200

    role = f"{function.capitalize()}Role"
    assert {(role, "GetItem", "VisitedTable"), (role, "PutItem", "VisitedTable")} <= linked.roles.used


def test_the_sweep_may_forget_what_was_replaced_a_month_ago_and_write_a_snapshot(linked: Deployment) -> None:
    linked.put_object(PUMP, "# Pump\n\nThe pump's code is ZV-1.")
    sweep = linked.handlers["sweep"]
    sweep.app.ports.clock = lambda: time.time() + 40 * DAY_S

    (done,) = sweep.handler({}, LocalContext(remaining_ms=900_000))["tenants"]

    assert (done["objects"], done["expired"]) == (2, 1)
    assert linked.s3.list_objects_v2(Bucket="state", Prefix="snapshots/")["KeyCount"] > 0


def test_what_a_role_may_not_do_is_refused_and_noted(deployment: Deployment) -> None:
    query = deployment.handlers["query"]
    visits = deployment.roles.acting("sweep", lambda *_: query.app.ports.visited.visited("demo", "s1", 0))

    with pytest.raises(DatabaseError):
        visits({}, None)

    assert deployment.roles.denied == {"SweepRole: dynamodb:GetItem on VisitedTable"}
    deployment.roles.denied.clear()
