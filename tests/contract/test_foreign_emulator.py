"""What `make up` finds out about an emulator that somebody else started, over HTTP."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from localstack.processes import LaunchError, choose_port
from localstack.services import PROBES, attach, running_emulator
from tests.served import handled_by


@contextlib.contextmanager
def health_page(path: str, content: object) -> Iterator[str]:
    """A server that answers on *path* alone; its address."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *args: object) -> None:
            """Say nothing."""

        def do_GET(self) -> None:
            body = json.dumps(content).encode()
            self.send_response(200 if self.path == path else 404)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with handled_by(Handler) as address:
        yield address


def states(**changed: str) -> dict[str, str]:
    return {**dict.fromkeys(PROBES, "available"), **changed}


def test_an_emulator_with_every_service_is_taken_and_named() -> None:
    with health_page("/_localstack/health", {"services": states(), "version": "4.9.0"}) as url:
        found = attach(url, with_secrets=False)

    assert str(found) == f"LocalStack 4.9.0 at {url}"
    assert found.host_of_this_machine == "host.docker.internal"


def test_ministack_is_distinguished_and_its_name_of_a_service_understood() -> None:
    content: dict[str, Any] = {"services": {**states(), "monitoring": "available"}, "version": "1.5"}
    del content["services"]["cloudwatch"]
    with health_page("/_ministack/health", content) as url:
        found = attach(url, with_secrets=False)

    assert (found.product, found.host_of_this_machine) == ("MiniStack", "127.0.0.1")


def test_every_service_that_is_missing_or_disabled_is_named_with_what_to_do() -> None:
    services = states(**{"dynamodb": "disabled", "lambda": "error"})
    del services["apigateway"]
    with (
        health_page("/_localstack/health", {"services": services}) as url,
        pytest.raises(LaunchError, match=r"lacks apigateway, dynamodb, lambda\. ragdrop needs .*SERVICES.*unset"),
    ):
        attach(url, with_secrets=False)


def test_the_parameter_store_is_needed_only_where_a_key_is_in_it() -> None:
    with (
        health_page("/_localstack/health", {"services": states()}) as url,
        pytest.raises(LaunchError, match=r"lacks ssm\."),
    ):
        attach(url, with_secrets=True)


def test_where_nothing_answers_the_address_is_named_and_what_to_do() -> None:
    url = f"http://127.0.0.1:{choose_port()}"

    with pytest.raises(LaunchError, match=f"No emulator answers at {url}.*unset"):
        attach(url, with_secrets=False)


def test_an_emulator_that_nobody_named_is_recognised_and_nothing_else_is() -> None:
    with health_page("/_ministack/health", {"services": states(), "version": "1.5"}) as url:
        assert str(running_emulator(url)) == f"MiniStack 1.5 at {url}"
    with health_page("/", {}) as url:
        assert running_emulator(url) is None
    assert running_emulator(f"http://127.0.0.1:{choose_port()}") is None


def test_a_server_that_is_no_emulator_lacks_every_service() -> None:
    with health_page("/", {}) as url, pytest.raises(LaunchError, match=r"lacks apigateway, cloudformation, .*sts"):
        attach(url, with_secrets=False)
