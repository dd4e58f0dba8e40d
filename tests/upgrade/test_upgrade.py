"""A stack of version 0.1.0 is upgraded: the functions of today read and continue what its functions wrote.

`tests/upgrade/write_state.py` wrote the state, by the code of that version.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import boto3
import pytest
from moto import mock_aws
from moto.s3.models import s3_backends

from ragdrop.domain.deadlines import Deadline, rfc3339
from tests.functions.conftest import REGION, Deployment

ACCOUNT = "123456789012"  # moto's
STATE = json.loads(Path(__file__).with_name("state-0.1.0.json").read_text("utf-8"))


class Upgraded(Deployment):
    """A deployment of today's code over the state of an older one, a minute after that was written."""

    def __init__(self, folder: Path, environ: pytest.MonkeyPatch) -> None:
        self.now_s = STATE["at"] + 60
        super().__init__(folder, environ)
        tables = boto3.client("dynamodb", region_name=REGION)
        for name, items in STATE["tables"].items():
            keys = [each["AttributeName"] for each in tables.describe_table(TableName=name)["Table"]["KeySchema"]]
            for item in tables.scan(TableName=name)["Items"]:
                tables.delete_item(TableName=name, Key={key: item[key] for key in keys})
            for item in items:
                tables.put_item(TableName=name, Item=_binary(item))
        for each in STATE["objects"]:
            _restore(self.s3, each)
        self.key = STATE["admin"]
        self.handlers = {name: self._load(name) for name in self.handlers}

    def _load(self, name: str) -> ModuleType:
        module = super()._load(name)
        module.app.ports.clock = lambda: self.now_s
        for cached in (module.app.tenants.directory._keys, module.app.tenants.directory._tenants):
            cached._clock = module.app.ports.clock
        return module


def _binary(value: Any) -> Any:
    """The item with its bytes, which JSON has as text."""
    if isinstance(value, dict) and value.keys() == {"base64"}:
        return base64.b64decode(value["base64"])
    if isinstance(value, dict):
        return {name: _binary(each) for name, each in value.items()}
    return [_binary(each) for each in value] if isinstance(value, list) else value


def _restore(objects: Any, each: dict[str, Any]) -> None:
    """Put one version of an object back, with the id and the time that the registry knows."""
    place = {"Bucket": each["Bucket"], "Key": each["Key"]}
    if each["deleted"]:
        objects.delete_object(**place)
    else:
        body = {"Body": _binary(each["Body"]), "ContentType": each["ContentType"], "Metadata": each["Metadata"]}
        objects.put_object(**place, **body)
    stored = s3_backends[ACCOUNT]["aws"].buckets[each["Bucket"]].keys.getlist(each["Key"])[-1]
    stored._version_id = each["VersionId"]
    stored.last_modified = datetime.fromtimestamp(each["at"], UTC).replace(tzinfo=None)


@pytest.fixture
def upgraded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Upgraded]:
    for name in ("AWS_ENDPOINT_URL", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    with mock_aws():
        yield Upgraded(tmp_path, monkeypatch)


def found(upgraded: Upgraded, query: str, **fields: Any) -> list[str]:
    status, body = upgraded.post("query", {"query": query, "min_relevance": 0, **fields})
    assert status == 200, body
    return sorted({f"demo/{path}" for path in re.findall(r"(?:team|private)/\w+\.md", json.dumps(body))})


def test_documents_are_found_by_what_the_old_version_indexed_and_deleted_ones_are_not(upgraded: Upgraded) -> None:
    assert "demo/team/pump.md" in found(upgraded, "the pump's code QX-5521")
    assert "demo/team/gone.md" not in found(upgraded, "the boiler was sold in May")


def test_an_answer_cites_the_version_that_was_live(upgraded: Upgraded) -> None:
    upgraded.chat.reply = "The pump's code is QX-5521."
    status, body = upgraded.post("generate", {"query": "What is the pump's code?"})

    assert (status, body["abstained"]) == (200, False)
    assert [(each["key"], each["status"]) for each in body["citations"]] == [("demo/team/pump.md", "verified")]


def test_a_receipt_of_the_old_version_can_be_read(upgraded: Upgraded) -> None:
    status, body = upgraded.send("GET", f"/answers/{STATE['answer']}")

    assert (status, body["answer"]) == (200, "The pump's code is QX-5521 [1].")
    assert [each["kind"] for each in body["feedback"]] == ["right"]


def test_a_question_about_the_past_gets_the_version_of_that_moment(upgraded: Upgraded) -> None:
    status, body = upgraded.post(
        "query", {"query": "the pump's code", "min_relevance": 0, "as_of": rfc3339(STATE["between"])}
    )

    assert status == 200, body
    assert "QX-1000" in json.dumps(body)
    assert "QX-5521" not in json.dumps(body)


def test_keys_roles_and_scopes_stay(upgraded: Upgraded) -> None:
    upgraded.key = STATE["reader"]

    assert upgraded.send("GET", "/me")[1]["role"] == "reader"
    assert "demo/private/salary.md" not in found(upgraded, "the salary list")
    assert upgraded.send("DELETE", "/documents/team/pump.md")[0] == 403


def test_settings_of_tenant_and_vault_stay_in_force(upgraded: Upgraded) -> None:
    status, body = upgraded.post("query", {"query": "pump", "debug": True})

    assert status == 200
    assert body["debug"]["settings"]["max_results"] == {"value": 7, "from": "tenant"}


def test_a_failed_document_still_says_why(upgraded: Upgraded) -> None:
    status, body = upgraded.send("GET", "/documents/team/broken.pdf")

    assert (status, body["status"]) == (200, "failed")


def test_a_new_version_of_an_old_document_replaces_it(upgraded: Upgraded) -> None:
    upgraded.put_object("demo/team/pump.md", "# Pump\n\nThe pump's code is ZZ-9999.")
    _, body = upgraded.post("query", {"query": "the pump's code", "min_relevance": 0})

    assert "ZZ-9999" in json.dumps(body)
    assert "QX-5521" not in json.dumps(body)


def test_a_sweep_finds_nothing_to_repair(upgraded: Upgraded) -> None:
    upgraded.now_s = STATE["at"] + 3_600
    sweep = upgraded.handlers["sweep"].app.operate.sweep
    report = sweep("demo", Deadline.after(60), dry_run=True)

    assert (report.finished, set(report.found.values())) == (True, {0})
