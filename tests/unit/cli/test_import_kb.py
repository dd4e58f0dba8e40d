"""`ragdrop import-kb`: answers of the control plane as files, which botocore's own model of the service checks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import boto3
import httpx
import pytest
from botocore.stub import Stubber
from moto import mock_aws

from tests.unit.cli.world import CommandLine

BASES = Path(__file__).parent / "knowledge_bases"
SIDECAR = {
    "metadataAttributes": {
        "owner": "ann",
        "year": 2026,
        "tags": {"value": {"type": "STRING_LIST", "stringListValue": ["a", "b"]}, "includeForEmbedding": False},
    }
}
FILES = {
    "handbook/pump.md": "# Pump\n\nThe pump is red.",
    "handbook/pump.md.metadata.json": json.dumps(SIDECAR),
    "handbook/broken.md": "# Broken",
    "handbook/broken.md.metadata.json": "{",
    "handbook/tour.mp4": "a film",
    "handbook/old.doc": "a letter",
    "handbook//twice.md": "no path of a document",
    "handbook/": "",
    "other/secret.md": "not of this knowledge base",
}
REGION = "us-east-1"


def dated(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer with its times as the SDK gives them."""
    return {**answer, **{name: datetime.fromisoformat(answer[name]) for name in ("createdAt", "updatedAt")}}


def stubbed(name: str) -> tuple[Any, Stubber]:
    """A client of the control plane that answers from a file, one data source a page, in the order of the requests."""
    base = json.loads((BASES / f"{name}.json").read_text("utf-8"))
    sources = [dated(each) for each in base["dataSources"]]
    given = {"knowledgeBaseId": base["knowledgeBase"]["knowledgeBaseId"]}
    client = boto3.client("bedrock-agent", region_name=REGION, aws_access_key_id="a", aws_secret_access_key="b")
    stub = Stubber(client)
    stub.add_response("get_knowledge_base", {"knowledgeBase": dated(base["knowledgeBase"])}, given)
    listed = ("knowledgeBaseId", "dataSourceId", "name", "status", "updatedAt")
    for place, source in enumerate(sources):
        page: dict[str, Any] = {"dataSourceSummaries": [{field: source[field] for field in listed}]}
        page |= {"nextToken": str(place + 1)} if place + 1 < len(sources) else {}
        asked = given | ({"nextToken": str(place)} if place else {})
        stub.add_response("list_data_sources", page, asked)
    for source in sources:
        stub.add_response("get_data_source", {"dataSource": source}, {**given, "dataSourceId": source["dataSourceId"]})
    stub.activate()
    return client, stub


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    with mock_aws():
        client = boto3.client("s3", region_name=REGION)
        for bucket in ("acme-docs", "acme-more", "documents"):
            client.create_bucket(Bucket=bucket)
        for key, text in FILES.items():
            client.put_object(Bucket="acme-docs", Key=key, Body=text.encode())
        client.put_object(Bucket="acme-more", Key="fan.md", Body=b"# Fan")
        yield client


@pytest.fixture
def importing(ragdrop: CommandLine, s3: Any) -> CommandLine:
    ragdrop.clients = {"s3": s3, "bedrock-agent": stubbed("handbook")[0]}
    known = {"tenant": "acme", "max_upload_bytes": 50 * 1024 * 1024}
    ragdrop.api.routes["GET", "/me"] = lambda _request: httpx.Response(200, json=known)
    ragdrop.write_stack(api_url=ragdrop.environ["RAGDROP_API_URL"], api_key="rd_test", bucket="documents")
    return ragdrop


def reported(ragdrop: CommandLine, *more: str) -> dict[str, Any]:
    """What the command prints as JSON about the base whose answers are there."""
    done = ragdrop.run("import-kb", "KB12345678", "--json", *more)
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def keys(s3: Any) -> list[str]:
    """What the document bucket holds."""
    return sorted(each["Key"] for each in s3.list_objects_v2(Bucket="documents").get("Contents", ()))


def test_a_dry_run_reports_the_files_and_writes_nothing(importing: CommandLine, s3: Any) -> None:
    for more in ([], ["--yes", "--dry-run"]):
        importing.clients["bedrock-agent"] = stubbed("handbook")[0]
        found = reported(importing, *more)

        assert (found["name"], found["vault"], found["copied"]) == ("Acme Handbook", "acme-handbook", None)
        assert found["sources"] == ["s3://acme-docs/handbook/"]
        assert (found["documents"], found["metadata_files"]) == (2, 2)
    assert keys(s3) == []


def test_what_is_not_read_or_has_no_possible_path_is_left_out_and_counted(importing: CommandLine) -> None:
    assert reported(importing)["left_out"] == {
        ".mp4 is not read": 1,
        ".doc is not read": 1,
        "a path that no document may have": 1,
        "a metadata file that cannot be read; it is copied and means nothing": 1,
    }


def test_every_difference_of_a_rich_knowledge_base_is_named(importing: CommandLine) -> None:
    found = "\n".join(reported(importing)["differs"])

    for words in (
        "amazon.titan-embed-text-v2:0 with 1024 dimensions",
        "binary there",
        "OPENSEARCH_SERVERLESS there",
        "pictures",
        "FIXED_SIZE, pieces of 300 tokens that overlap by 20 %",
        "parsing of documents: a chat model there",
        "transformation of documents: a Lambda function",
        "deletion of documents",
        "another account's",
        "data source wiki: WEB, which is left out",
        "filters by year: equals",
        "filters by tags: listContains",
        "no sync",
    ):
        assert words in found


def test_attributes_of_metadata_files_are_reported_with_their_kinds(importing: CommandLine) -> None:
    assert reported(importing)["attributes"] == {"owner": ["string"], "tags": ["list"], "year": ["number"]}


def test_two_buckets_become_two_folders_and_defaults_are_said(importing: CommandLine, s3: Any) -> None:
    agent, stub = stubbed("plain")
    importing.clients["bedrock-agent"] = agent

    done = importing.run("import-kb", "KB87654321", "--vault", "plain", "--yes", "--json")

    found = json.loads(done.stdout)
    stub.assert_no_pending_responses()
    assert found["sources"] == ["s3://acme-docs/", "s3://acme-more/"]
    assert {"acme/plain/acme-docs/other/secret.md", "acme/plain/acme-more/fan.md"} <= set(keys(s3))
    differs = "\n".join(found["differs"])
    assert "a model that Bedrock chose" in differs
    assert "DEFAULT, about 300 tokens a piece" in differs
    assert "HIERARCHICAL, small pieces inside larger ones" in differs
    assert "enrichment of more" in differs


def test_files_are_copied_with_their_metadata_files_once(importing: CommandLine, s3: Any) -> None:
    first = reported(importing, "--yes", "--vault", "team")
    importing.clients["bedrock-agent"] = stubbed("handbook")[0]
    s3.put_object(Bucket="acme-docs", Key="handbook/pump.md", Body=b"The pump is blue.")
    second = reported(importing, "--yes", "--vault", "team")

    assert (first["copied"], second["copied"]) == (4, 1)
    assert keys(s3) == [
        "acme/team/handbook/broken.md",
        "acme/team/handbook/broken.md.metadata.json",
        "acme/team/handbook/pump.md",
        "acme/team/handbook/pump.md.metadata.json",
    ]
    copied = s3.get_object(Bucket="documents", Key="acme/team/handbook/pump.md")["Body"].read()
    assert copied == b"The pump is blue."


def test_the_words_for_people_end_with_the_next_step(importing: CommandLine) -> None:
    printed = importing.run("import-kb", "KB12345678").stdout

    assert "2 files, 2 metadata files beside them" in printed
    assert printed.splitlines()[-1] == "nothing was written: --yes copies 4 files into the vault acme-handbook"


def test_a_knowledge_base_without_files_is_refused(importing: CommandLine) -> None:
    importing.clients["bedrock-agent"] = stubbed("database")[0]

    done = importing.run("import-kb", "KB00000000")

    assert done.exit_code == 2
    assert "reads a Kendra index and no files" in done.stderr


@pytest.mark.parametrize(
    ("code", "exit_code", "words"),
    [
        ("ResourceNotFoundException", 1, "there is no knowledge base KB12345678"),
        ("AccessDeniedException", 2, "bedrock:GetKnowledgeBase"),
        ("ThrottlingException", 3, "AWS answered ThrottlingException"),
    ],
)
def test_what_aws_refuses_ends_in_words(importing: CommandLine, code: str, exit_code: int, words: str) -> None:
    client = boto3.client("bedrock-agent", region_name=REGION)
    stub = Stubber(client)
    stub.add_client_error("get_knowledge_base", code)
    stub.activate()
    importing.clients["bedrock-agent"] = client

    done = importing.run("import-kb", "KB12345678")

    assert done.exit_code == exit_code
    assert words in done.stderr


def test_without_a_bucket_in_the_stack_file_nothing_is_copied(importing: CommandLine, s3: Any) -> None:
    importing.write_stack(api_url=importing.environ["RAGDROP_API_URL"], api_key="rd_test")

    done = importing.run("import-kb", "KB12345678", "--yes")

    assert done.exit_code == 2
    assert "ragdrop connect STACK" in done.stderr
    assert keys(s3) == []
