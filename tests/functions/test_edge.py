"""The edge: odd names, long and hostile input are errors of the caller, and never reach headers or logs as they are."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.functions.conftest import Deployment, LocalContext

BAD_PATHS = {
    "parent": "/documents/team/../other/a.md",
    "parents within": "/documents/team/a/../../b.md",
    "this folder": "/documents/team/./a.md",
    "empty segment": "/documents/team//a.md",
    "ends as a folder": "/documents/team/a/",
    "NUL": "/documents/team/a\x00.md",
    "line end": "/documents/team/a\nb.md",
    "carriage return": "/documents/team/a\r\nx-evil: 1.md",
    "escape": "/documents/team/a\x1b[2J.md",
    "encoded parent": "/documents/team/%2e%2e/other/a.md",
    "encoded slash": "/documents/team/..%2f..%2fother/a.md",
    "too long": f"/documents/team/{'a' * 1_000}.md",
    "upper-case vault": "/documents/Team/a.md",
    "vault with dots": "/documents/../a.md",
    "unicode vault": "/documents/tëam/a.md",
}


def sent(deployment: Deployment, method: str, path: str, **changes: Any) -> dict[str, Any]:
    event = deployment.event("search", path=path, httpMethod=method, body=changes.pop("body", None), **changes)
    answer: dict[str, Any] = deployment.handlers["query"].handler(event, LocalContext())
    return answer


@pytest.mark.parametrize("path", BAD_PATHS.values(), ids=BAD_PATHS)
def test_a_path_that_leads_elsewhere_is_refused_for_reading_writing_and_deleting(
    deployment: Deployment, path: str
) -> None:
    bucket = deployment.handlers["query"].app.ports.documents

    statuses = {method: sent(deployment, method, path, body="x")["statusCode"] for method in ("GET", "PUT", "DELETE")}

    assert set(statuses.values()) <= {400, 404}, statuses
    assert list(bucket.entries("")) == []


@pytest.mark.parametrize("given", ["a\r\nx-evil: 1", "a\nb", "ü", "\x00", "x" * 129, "\x1b[2J", ""])
def test_a_request_id_that_could_break_a_header_or_a_log_is_replaced(deployment: Deployment, given: str) -> None:
    event = deployment.event("search")
    event["headers"]["X-Request-Id"], event["multiValueHeaders"]["X-Request-Id"] = given, [given]

    answer = deployment.handlers["query"].handler(event, LocalContext())

    told = json.loads(answer["body"])["request_id"]
    assert told != given
    assert told.isascii()
    assert told.isprintable()


def test_names_in_errors_are_short_and_stay_within_one_line_of_the_log(
    deployment: Deployment, capsys: pytest.CaptureFixture[str]
) -> None:
    name = 'x"}\n{"level":"ERROR","message":"made up'
    answer = sent(deployment, "POST", "/search", body=json.dumps({"query": "pump", "vaults": [name * 20]}))

    assert answer["statusCode"] == 400
    assert len(answer["body"]) < 2_000
    logged = [line for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert logged
    assert [line for line in logged if "made up" in str(json.loads(line).get("message", ""))] == []


@pytest.mark.parametrize("secret", ["", " ", "x" * 100_000, "rd_\r\nx: 1", "..", "Bearer x", "rd_" + "ü" * 43])
def test_a_hostile_key_is_only_an_unknown_one(deployment: Deployment, secret: str) -> None:
    event = deployment.event("search")
    event["headers"]["x-api-key"], event["multiValueHeaders"]["x-api-key"] = secret, [secret]

    status, body = deployment.call("query", event)

    assert (status, body["error"]["code"]) == (401, "UNAUTHENTICATED")


def test_a_body_over_the_limit_is_413_and_nothing_is_written(deployment: Deployment) -> None:
    answer = sent(deployment, "PUT", "/documents/team/big.md", body="x" * (4 * 1024 * 1024 + 1))

    assert answer["statusCode"] == 413
    assert "/uploads" in answer["body"]
    assert list(deployment.handlers["query"].app.ports.documents.entries("")) == []


def test_json_that_is_deep_or_of_the_wrong_kind_is_an_error_of_the_caller(deployment: Deployment) -> None:
    for body in ("[" * 100_000, '{"query": ' + "[" * 50_000, "null", "[]", '"x"', "NaN", '{"query": "\\ud800"}'):
        assert sent(deployment, "POST", "/search", body=body)["statusCode"] == 400, body[:40]
