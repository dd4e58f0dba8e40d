"""The deadline of a request: the function's, or the gateway's since it took the request, whichever is earlier."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import pytest
from fastapi import Request

from ragdrop.api.edge import GATEWAY_LIMIT_S, MARGIN_S, deadline_of


@dataclass(frozen=True)
class LambdaContext:
    """What is read of a Lambda context."""

    left_s: float

    def get_remaining_time_in_millis(self) -> float:
        return self.left_s * 1_000


def left_s(*, function_s: float, taken_s_ago: float | None, **scope: Any) -> float:
    epoch = {} if taken_s_ago is None else {"requestTimeEpoch": (time.time() - taken_s_ago) * 1_000}
    event = {"requestContext": epoch}
    context = LambdaContext(function_s)
    return deadline_of(Request({"type": "http", "aws.context": context, "aws.event": event, **scope})).remaining_s()


@pytest.mark.parametrize(
    ("function_s", "taken_s_ago", "expected_s"),
    [
        (29.0, 4.0, GATEWAY_LIMIT_S - 4.0),  # a cold start of four seconds
        (10.0, 4.0, 10.0),  # the function itself ends earlier
        (29.0, None, GATEWAY_LIMIT_S),
        (29.0, 86_400.0, GATEWAY_LIMIT_S),  # a recorded event
        (29.0, -60.0, GATEWAY_LIMIT_S),  # a clock that is ahead
    ],
)
def test_the_gateways_time_runs_from_when_it_took_the_request(
    function_s: float, taken_s_ago: float | None, expected_s: float
) -> None:
    assert left_s(function_s=function_s, taken_s_ago=taken_s_ago) == pytest.approx(expected_s - MARGIN_S, abs=0.2)


def test_a_streamed_answer_has_the_functions_time() -> None:
    scope = {"ragdrop.streams": True}

    assert left_s(function_s=300.0, taken_s_ago=4.0, **scope) == pytest.approx(300.0 - MARGIN_S, abs=0.2)
