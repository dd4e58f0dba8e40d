"""The Python client posts a file with a presigned form: what it sends, tries again, and makes of a refusal."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from ragdrop.errors import ObjectStoreError, PayloadTooLargeError, RagdropError
from tests.functions.wire import Wire

FORM = {
    "vault": "team",
    "path": "a ü.txt",
    "key": "demo/team/a ü.txt",
    "url": "http://bucket.example/",
    "fields": {"key": "demo/team/a ü.txt", "policy": "signed"},
    "max_bytes": 100,
}


def asked_for(form: object) -> httpx.Response:
    return httpx.Response(201, json=form)


def posted() -> httpx.Response:
    return httpx.Response(204, headers={"x-amz-version-id": "v7"})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "a.txt"
    made.write_bytes(b"sixteen bytes ..")
    return made


def test_the_fields_come_first_and_the_file_last(file: Path) -> None:
    wire = Wire(asked_for(FORM), posted())

    with wire.client() as client:
        reply = client.upload_document("team", "a ü.txt", file, media_type="text/plain")

    body = wire.requests[1].read()
    assert body.index(b'name="policy"') < body.index(b'name="file"') < body.index(b"sixteen bytes ..")
    assert wire.requests[1].headers["content-length"] == str(len(body))
    assert (reply["status"], reply["version_id"]) == ("pending", "v7")
    assert reply["status_url"] == "/documents/team/a%20%C3%BC.txt?version=v7"


def test_a_bucket_that_failed_or_was_cut_off_is_tried_again_with_the_whole_file(file: Path) -> None:
    wire = Wire(asked_for(FORM), httpx.WriteError, httpx.Response(503), posted())

    with wire.client() as client:
        client.upload_document("team", "a ü.txt", file)

    assert len(wire.slept_s) == 2
    assert b"sixteen bytes .." in wire.requests[3].read()


def test_a_bucket_that_stays_away_is_an_object_store_error(file: Path) -> None:
    wire = Wire(asked_for(FORM), httpx.ConnectError, httpx.ConnectError, httpx.ConnectError)

    with wire.client() as client, pytest.raises(ObjectStoreError, match="could not be reached"):
        client.upload_document("team", "a ü.txt", file)


def test_a_refused_form_reports_the_buckets_own_code(file: Path) -> None:
    wire = Wire(asked_for(FORM), httpx.Response(403, text="<Error><Code>AccessDenied</Code></Error>"))

    with wire.client() as client, pytest.raises(RagdropError) as caught:
        client.upload_document("team", "a ü.txt", file)

    assert caught.value.details == {"code": "AccessDenied", "status": 403}


def test_a_file_larger_than_the_form_allows_is_not_sent(file: Path) -> None:
    wire = Wire(asked_for(FORM | {"max_bytes": 5}))

    with wire.client() as client, pytest.raises(PayloadTooLargeError):
        client.upload_document("team", "a ü.txt", file)

    assert len(wire.requests) == 1
