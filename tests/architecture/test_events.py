"""Every file in events/ is what Lambda would get: an SQS batch or a request of the REST API."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEvent, SQSEvent

from ragdrop.ports.message_queue import deliveries

EVENTS = sorted((Path(__file__).parents[2] / "events").glob("*.json"))
BATCHES = [path for path in EVENTS if path.name.startswith("ingest-")]
REQUESTS = [path for path in EVENTS if path not in BATCHES]


def load(path: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return loaded


@pytest.mark.parametrize("path", BATCHES, ids=lambda path: path.stem)
def test_an_ingest_event_is_an_sqs_batch(path: Path) -> None:
    for record in SQSEvent(load(path)).records:
        assert record.event_source == "aws:sqs"
        assert record.message_id
        assert record.receipt_handle
        assert int(record.attributes.approximate_receive_count) >= 1
        assert record.md5_of_body == hashlib.md5(record.body.encode(), usedforsecurity=False).hexdigest()


@pytest.mark.parametrize("path", REQUESTS, ids=lambda path: path.stem)
def test_a_request_event_is_one_of_a_rest_api(path: Path) -> None:
    event = APIGatewayProxyEvent(load(path))

    assert event.http_method in {"POST", "PUT", "GET", "DELETE"}
    assert event.request_context.stage
    assert event.path.startswith(("/search", "/ask", "/documents", "/mcp"))
    assert event.decoded_body
    assert {name: values[0] for name, values in event.multi_value_headers.items()} == dict(event.headers)


def test_the_mixture_holds_puts_deletes_a_test_event_a_duplicate_and_a_stranger() -> None:
    found = deliveries(load(next(path for path in BATCHES if path.stem == "ingest-mixture")))

    assert [delivery.understood for delivery in found] == [True, True, True, True, True, True, False]
    keys = [change.key for delivery in found for change in delivery.changes]
    assert "demo/handbook/team/Übergabe Protokoll (1).md" in keys
    assert len(keys) == len(set(keys)) + 1
