"""Settings files through the real handlers: dropped in S3, listed over HTTP, in force for the next question."""

from __future__ import annotations

from typing import Any

from tests.functions.conftest import Deployment
from tests.functions.test_documents import request

OWN = "demo/.ragdrop.json"
TEAM = "demo/handbook/.ragdrop.json"


def listed(deployment: Deployment) -> dict[str, Any]:
    """What the API lists, by S3 key."""
    _, page = request(deployment, "GET", "/documents")
    return {record["key"]: record for record in page["documents"]}


def test_dropped_settings_are_listed_as_what_they_are_and_bad_ones_say_all_that_is_wrong(
    deployment: Deployment,
) -> None:
    deployment.put_object(OWN, '{"min_relevance": 0.5}')
    deployment.put_object(TEAM, '{"max_results": 0, "colour": 1}')

    found = listed(deployment)

    assert {key: (each["status"], each["vault"]) for key, each in found.items()} == {
        OWN: ("indexed", ""),
        TEAM: ("failed", "handbook"),
    }
    assert found[OWN]["doc_type"] == "settings"
    assert found[TEAM]["error"]["code"] == "INVALID_SETTINGS"
    assert "max_results: 0" in found[TEAM]["error"]["message"]
    assert "colour: 1" in found[TEAM]["error"]["message"]


def test_a_settings_file_is_not_found_by_a_search(deployment: Deployment) -> None:
    deployment.put_object("demo/handbook/pump.md", "The pump is red.")
    deployment.put_object(TEAM, '{"doc_types": ["pump"]}')

    _, found = deployment.post("query", {"query": "pump", "min_relevance": 0})

    assert [result["path"] for result in found["results"]] == ["pump.md"]
    assert found["total_indexed"] == 1


def test_a_failed_replacement_keeps_answering_where_the_settings_say_so(deployment: Deployment) -> None:
    deployment.put_object(OWN, '{"keep_last_good": true}')
    deployment.put_object("demo/handbook/pump.md", "The pump is red.")
    deployment.put_object("demo/handbook/pump.md", "")

    assert listed(deployment)["demo/handbook/pump.md"]["status"] == "failed"
    _, found = deployment.post("query", {"query": "pump", "min_relevance": 0})
    assert [result["path"] for result in found["results"]] == ["pump.md"]


def test_names_in_texts_are_followed_as_links_where_the_settings_say_so(deployment: Deployment) -> None:
    deployment.put_object("demo/handbook/seal-kit.md", "Rubber rings and grease.")
    deployment.put_object("demo/handbook/pump.md", "A pump wants a Seal Kit.")
    asked = {"query": "pump", "min_relevance": 0, "limit": 1}

    _, before = deployment.post("query", asked)
    deployment.put_object(TEAM, '{"link_mentions": true}')
    deployment.put_object("demo/handbook/pump.md", "Any pump wants a Seal Kit.")
    _, after = deployment.post("query", asked)

    assert [each["path"] for each in before["linked"]] == []
    assert [each["path"] for each in after["linked"]] == ["seal-kit.md"]
