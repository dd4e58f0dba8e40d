"""The benchmarks ask the query function's own handler, over an application that they composed themselves."""

from __future__ import annotations

import json

from benchmarks.peers.ragdrop import Context, handler_of
from ragdrop import app as application
from tests.functions.conftest import rest_event
from tests.world import World


def test_the_handler_answers_from_the_given_application_without_any_setting_of_the_environment(world: World) -> None:
    before = application.compose

    handler = handler_of(world.app).handler

    answer = handler(rest_event("POST", "/search", {"x-api-key": "rd_unknown"}, {"query": "pump"}), Context())
    assert (answer["statusCode"], json.loads(answer["body"])["error"]["code"]) == (401, "UNAUTHENTICATED")
    assert application.compose is before
