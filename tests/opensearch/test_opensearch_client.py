"""Whom ragdrop says it is to OpenSearch, and how it connects; nothing is sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from opensearchpy import AuthenticationException

from ragdrop.domain.deadlines import Deadline
from ragdrop.errors import ConfigurationError, DatabaseError
from ragdrop_opensearch.client import QuietConnection, RepeatableCalls, connect, region_of, signer


@dataclass
class Frozen:
    access_key: str
    secret_key: str = "not-a-real-secret"
    token: str | None = "session"


class Rotating:
    """Credentials that are renewed before every request."""

    def __init__(self) -> None:
        self.given = 0

    def get_frozen_credentials(self) -> Frozen:
        self.given += 1
        return Frozen(f"KEY{self.given}")


def test_the_hash_of_the_body_is_signed_along() -> None:
    headers = signer("eu-west-1", Rotating())("POST", "https://search.example.com/_bulk", b"body")

    assert headers["X-Amz-Content-SHA256"] == "230d8358dc8e8890b4c58deeb62912ee2f20357ae92a5cc861b98e68fe31acb5"
    assert "x-amz-content-sha256" in headers["Authorization"]
    assert "/eu-west-1/es/aws4_request" in headers["Authorization"]
    assert headers["X-Amz-Security-Token"] == "session"


def test_every_request_is_signed_with_the_credentials_of_its_moment() -> None:
    sign = signer("eu-west-1", Rotating())

    keys = [sign("GET", "https://search.example.com/", None)["Authorization"].split("/")[0] for _ in range(2)]

    assert [key[-4:] for key in keys] == ["KEY1", "KEY2"]


def test_a_domain_of_aws_is_signed_for_in_its_own_region() -> None:
    url = "https://search-acme-x1.eu-central-1.es.amazonaws.com"

    connection = connect(url, credentials=Rotating()).transport.get_connection()

    authorization = connection.http_auth("GET", f"{url}/", None)["Authorization"]
    assert "/eu-central-1/es/" in authorization
    assert (connection.host, connection.use_ssl) == (f"{url}:443", True)
    assert str(connection.pool.cert_reqs) == "CERT_REQUIRED"


def test_a_user_in_the_url_is_taken_before_a_signature_and_the_password_may_come_apart() -> None:
    url = "https://writer:in%40url@search-acme-x1.eu-central-1.es.amazonaws.com"

    apart = connect(url, "secret").transport.get_connection().headers["authorization"]
    within = connect(url).transport.get_connection().headers["authorization"]

    assert (apart, within) == ("Basic d3JpdGVyOnNlY3JldA==", "Basic d3JpdGVyOmluQHVybA==")


def test_a_password_that_was_rotated_is_read_again_once_the_index_refused_the_old_one() -> None:
    cached, sent = ["old"], list[str]()

    def read(*, renew: bool = False) -> str:
        cached[0] = "new" if renew else cached[0]
        return cached[0]

    class Refusing(QuietConnection):
        def perform_request(self, method: str, url: str, *_: Any, **__: Any) -> Any:
            sent.append(self.http_auth(method, url, None)["authorization"])
            if sent[-1] != "Basic d3JpdGVyOm5ldw==":
                raise AuthenticationException(401, "security_exception", {})
            return 200, {}, "{}"  # what the transport reads

    calls = RepeatableCalls(connect("http://writer@127.0.0.1:9200", read, connection_class=Refusing))

    assert calls.call("GET", "/", "check", Deadline.after(5), 5) == {}
    assert sent == ["Basic d3JpdGVyOm9sZA==", "Basic d3JpdGVyOm5ldw=="]


def test_a_password_that_was_not_rotated_is_sent_once() -> None:
    sent = list[str]()

    class Refusing(QuietConnection):
        def perform_request(self, method: str, url: str, *_: Any, **__: Any) -> Any:
            sent.append(self.http_auth(method, url, None)["authorization"])
            raise AuthenticationException(401, "security_exception", {})

    calls = RepeatableCalls(connect("http://writer@127.0.0.1:9200", lambda **_: "same", connection_class=Refusing))

    with pytest.raises(DatabaseError, match="refused the credentials"):
        calls.call("GET", "/", "check", Deadline.after(5), 5)
    assert len(sent) == 1


def test_no_other_host_is_shown_credentials_of_aws() -> None:
    assert connect("http://127.0.0.1:9200", credentials=Rotating()).transport.get_connection().http_auth is None
    assert region_of("eu-west-1.es.amazonaws.com.example.org") is None


def test_opensearch_serverless_is_refused_by_name() -> None:
    with pytest.raises(ConfigurationError, match="Serverless"):
        connect("https://abc.eu-west-1.aoss.amazonaws.com")


def test_a_url_that_cannot_be_one_is_refused_without_showing_a_password() -> None:
    with pytest.raises(ConfigurationError) as raised:
        connect("ftp://user:hidden@host")

    assert "hidden" not in str(raised.value)
