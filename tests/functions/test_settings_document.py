"""The settings document through the real handlers: read at start, again after a minute, never half."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from ragdrop.app import REREAD_S, Reloaded
from ragdrop.config import DOCUMENT_KEY, Settings
from ragdrop.errors import ConfigurationError, ObjectStoreError
from tests.functions.conftest import Deployment, LocalContext, deployed

FUNCTIONS = ("ingest", "query", "generate", "mcp", "sweep")


def put(deployment: Deployment, body: str) -> None:
    deployment.s3.put_object(Bucket="state", Key=DOCUMENT_KEY, Body=body.encode())


def served(deployment: Deployment, function: str) -> Reloaded[object]:
    found: Reloaded[object] = deployment.handlers[function].served
    return found


def call(deployment: Deployment, function: str, monkeypatch: pytest.MonkeyPatch, *, after_s: float) -> None:
    """Call a function *after_s* seconds after it read its settings; the event needs no model."""
    reloaded = served(deployment, function)
    monkeypatch.setattr(reloaded, "_clock", lambda: reloaded._read_at_s + after_s)
    events = {"ingest": {"Records": []}, "sweep": {"check": "index"}}
    event = events.get(function) or deployment.event("ask-bad-key")
    deployment.handlers[function].handler(event, LocalContext())


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_changed_document_is_in_force_within_a_minute(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    reloaded = served(deployment, function)
    put(deployment, json.dumps({"retrieval": {"max_results": 3}, "log_level": "WARNING"}))

    call(deployment, function, monkeypatch, after_s=REREAD_S - 1)
    assert reloaded.app.ports.settings.max_results is None
    call(deployment, function, monkeypatch, after_s=REREAD_S)
    assert reloaded.app.ports.settings.max_results == 3
    assert logging.getLogger("ragdrop").level == logging.WARNING

    deployment.s3.delete_object(Bucket="state", Key=DOCUMENT_KEY)
    call(deployment, function, monkeypatch, after_s=REREAD_S)
    assert reloaded.app.ports.settings.max_results is None


def test_an_unchanged_document_composes_nothing_again(deployment: Deployment, monkeypatch: pytest.MonkeyPatch) -> None:
    before = served(deployment, "query").app

    call(deployment, "query", monkeypatch, after_s=REREAD_S)

    assert served(deployment, "query").app is before


def test_an_invalid_document_leaves_the_settings_in_force_and_logs_all_problems(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    before = served(deployment, "query").app
    put(deployment, '{"fusion": "sum", "colour": 1}')

    call(deployment, "query", monkeypatch, after_s=REREAD_S)

    assert served(deployment, "query").app is before
    [record] = [each for each in caplog.records if each.levelno == logging.ERROR]
    assert "previous settings stay in force" in record.message
    assert all(problem in str(record.exc_info) for problem in ('fusion: "sum" is not allowed', "colour: this name"))


def test_a_document_that_cannot_be_read_leaves_the_settings_in_force(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    before = served(deployment, "query").app

    def unread(*, quick: bool) -> Settings:
        raise ObjectStoreError(f"no answer, quick is {quick}", service="object_store")

    served(deployment, "query").read = unread

    call(deployment, "query", monkeypatch, after_s=REREAD_S)

    assert served(deployment, "query").app is before
    assert [each.levelno for each in caplog.records if "settings" in each.message] == [logging.WARNING]


def test_a_function_does_not_start_with_an_invalid_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with deployed(tmp_path, monkeypatch) as deployment:
        put(deployment, '{"retry_attempts": 0, "state_bucket": "mine"}')

        with pytest.raises(ConfigurationError, match=r"(?s)retry_attempts: 0 is not allowed.*state_bucket: "):
            deployment._load("query")
