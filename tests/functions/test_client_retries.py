"""Which requests the Python client sends again, and after how long."""

from __future__ import annotations

import httpx
import pytest

from ragdrop.errors import DatabaseError, DependencyError, RagdropError, RateLimitedError
from tests.functions.wire import Wire, ok, refused


def test_a_connection_that_fails_is_tried_three_times_with_growing_pauses() -> None:
    wire = Wire(httpx.ConnectError, httpx.ConnectError, ok(answer="yes"))

    with wire.client() as client:
        assert client.ask("Which?") == {"answer": "yes"}

    assert 0.1 <= wire.slept_s[0] <= 0.15
    assert 0.2 <= wire.slept_s[1] <= 0.3


def test_after_the_third_try_the_error_names_the_url_and_make_up() -> None:
    wire = Wire(*[httpx.ConnectError] * 3)

    with wire.client() as client, pytest.raises(DependencyError) as caught:
        client.search("pump")

    assert caught.value.service == "api"
    assert "http://api.example/prod" in caught.value.message
    assert "make up" in caught.value.message


def test_a_question_that_may_have_arrived_is_not_asked_twice() -> None:
    wire = Wire(httpx.ReadError)

    with wire.client() as client, pytest.raises(DependencyError):
        client.ask("Which?")

    assert len(wire.requests) == 1


def test_a_read_that_was_cut_off_is_repeated() -> None:
    wire = Wire(httpx.RemoteProtocolError, ok(status="indexed"))

    with wire.client() as client:
        assert client.get_document("team", "a.md") == {"status": "indexed"}


@pytest.mark.parametrize("status", [500, 502, 504])
def test_a_search_is_sent_again_after_what_a_gateway_says_of_a_function(status: int) -> None:
    wire = Wire(httpx.Response(status), ok(results=[]))

    with wire.client() as client:
        assert client.search("pump") == {"results": []}


@pytest.mark.parametrize("status", [500, 502, 504])
def test_a_question_that_a_function_may_have_answered_is_not_asked_twice(status: int) -> None:
    wire = Wire(httpx.Response(status))

    with wire.client() as client, pytest.raises(RagdropError):
        client.ask("Which?")

    assert len(wire.requests) == 1


def test_get_put_and_delete_are_sent_again_after_a_time_out_and_after_429_and_5xx() -> None:
    wire = Wire(httpx.ReadTimeout, ok(a=1), refused(429, "RATE_LIMITED"), ok(b=1), httpx.Response(502), ok(c=1))

    with wire.client() as client:
        replies = [client.get_document("team", "a"), client.put_document("team", "a", b"x")]
        replies.append(client.delete_document("team", "a"))

    assert replies == [{"a": 1}, {"b": 1}, {"c": 1}]
    assert [request.method for request in wire.requests] == ["GET", "GET", "PUT", "PUT", "DELETE", "DELETE"]
    assert all(0.1 <= slept_s <= 0.15 for slept_s in wire.slept_s)


def test_the_third_time_out_is_the_last_one() -> None:
    wire = Wire(*[httpx.ReadTimeout] * 3)

    with wire.client() as client, pytest.raises(DependencyError, match="in time"):
        client.get_document("team", "a.md")

    assert len(wire.slept_s) == 2


@pytest.mark.parametrize("answer", [httpx.ReadTimeout, httpx.Response(503)])
def test_a_search_that_was_not_answered_is_not_waited_for_again(answer: httpx.Response) -> None:
    wire = Wire(answer)

    with wire.client() as client, pytest.raises(DependencyError):
        client.search("pump")

    assert len(wire.requests) == 1


def test_retry_after_is_honoured() -> None:
    told = refused(503, "DATABASE_ERROR", service="registry", retryable=True)
    told.headers["retry-after"] = "5"
    wire = Wire(told, ok())

    with wire.client() as client:
        client.get_document("team", "a.md")

    assert wire.slept_s == [5.0]


def test_a_pause_of_more_than_30_s_is_the_callers_to_make() -> None:
    told = refused(429, "RATE_LIMITED", retry_after_s=60)
    told.headers["retry-after"] = "60"
    wire = Wire(told)

    with wire.client() as client, pytest.raises(RateLimitedError):
        client.get_document("team", "a.md")

    assert wire.slept_s == []


def test_what_cannot_be_helped_by_trying_again_is_not_tried_again() -> None:
    wire = Wire(refused(503, "DATABASE_ERROR", service="registry", retryable=False))

    with wire.client() as client, pytest.raises(DatabaseError):
        client.get_document("team", "a.md")

    assert len(wire.requests) == 1
