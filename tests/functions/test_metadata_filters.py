"""Filters of Bedrock's knowledge bases: trees of conditions, sent by boto3's client as it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ragdrop.api.apis import query_api
from tests.agent_world import key_of
from tests.botocore_shapes import Replies
from tests.functions.agent_runtime import URI, agent_runtime, filled_world, names, retrieve
from tests.served import served


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    world = filled_world()
    with served(query_api(world.app)) as url, agent_runtime(url, key_of(world, "reader")) as found:
        yield found


def is_(key: str, value: Any) -> dict[str, Any]:
    return {"equals": {"key": key, "value": value}}


def with_(operator: str, key: str, value: Any) -> dict[str, Any]:
    return {operator: {"key": key, "value": value}}


BOTH, ONLY_PUMP, ONLY_FAN = ["fan.md", "pump.md"], ["pump.md"], ["fan.md"]
NONE: list[str] = []


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        (is_("category", "machines"), ONLY_PUMP),
        (is_("owner", "bob"), ONLY_FAN),
        (is_("owner", "nobody"), NONE),
        (is_("year", 2026), ONLY_PUMP),
        (is_("dry", False), ONLY_PUMP),
        (is_("doc_type", "MANUAL"), ONLY_PUMP),
        (is_("session_id", "s1"), ONLY_FAN),
        (is_("content_type", "documentation"), BOTH),
        (is_("vault", "team"), BOTH),
        (is_("vault", "ops"), NONE),
        (is_("date", "2026-02-28"), ONLY_FAN),
        (with_("in", "category", ["machines", "air"]), BOTH),
        (with_("in", "owner", ["ann", "carl"]), ONLY_PUMP),
        (with_("notEquals", "owner", "ann"), ONLY_FAN),
        (with_("notEquals", "nowhere", "x"), BOTH),
        (with_("notIn", "category", ["air", "x"]), ONLY_PUMP),
        (with_("notIn", "doc_type", ["manual", "note"]), NONE),
        (with_("notEquals", "vault", "team"), NONE),
        (with_("notEquals", "vault", "ops"), BOTH),
        (with_("notEquals", "x-amz-bedrock-kb-source-uri", f"{URI}/team/fans/fan.md"), ONLY_PUMP),
        (with_("notEquals", "x-amz-bedrock-kb-source-uri", "s3://other/a.md"), BOTH),
        ({"andAll": [with_("notEquals", "owner", "ann"), with_("notEquals", "owner", "bob")]}, NONE),
        ({"andAll": [with_("notEquals", "owner", "x"), with_("notIn", "category", ["air"])]}, ONLY_PUMP),
        (with_("listContains", "tags", "red"), BOTH),
        (with_("listContains", "tags", "wet"), ONLY_PUMP),
        (with_("greaterThan", "date", "2026-01-31"), ONLY_FAN),
        (with_("greaterThanOrEquals", "date", "2026-01-31"), BOTH),
        (with_("greaterThan", "date", 20260131), ONLY_FAN),
        (with_("lessThan", "date", "2026-01-31"), NONE),
        (with_("lessThanOrEquals", "date", "2026-01-31"), ONLY_PUMP),
        (with_("greaterThan", "date", "2026-02-28T10:00:00+00:00"), NONE),
        (with_("lessThan", "date", "2026-02-28T10:00:01+00:00"), BOTH),
        (is_("x-amz-bedrock-kb-source-uri", f"{URI}/team/fans/fan.md"), ONLY_FAN),
        (with_("startsWith", "x-amz-bedrock-kb-source-uri", f"{URI}/team/pumps/"), ONLY_PUMP),
        (with_("startsWith", "x-amz-bedrock-kb-source-uri", f"{URI}/"), BOTH),
        (with_("startsWith", "x-amz-bedrock-kb-source-uri", "s3://other/"), NONE),
        (with_("in", "path", ["fans/fan.md", "none.md"]), ONLY_FAN),
        (with_("startsWith", "path", "fans/"), ONLY_FAN),
        ({"andAll": [is_("owner", "ann"), is_("category", "machines")]}, ONLY_PUMP),
        ({"andAll": [is_("owner", "ann"), is_("category", "air")]}, NONE),
        ({"andAll": [is_("owner", "ann"), is_("owner", "bob")]}, NONE),
        ({"andAll": [is_("category", "air"), is_("category", "machines")]}, NONE),
        ({"andAll": [with_("in", "category", ["air", "x"]), with_("in", "category", ["air", "machines"])]}, ONLY_FAN),
        (
            {
                "andAll": [
                    with_("greaterThanOrEquals", "date", "2026-01-01"),
                    with_("greaterThanOrEquals", "date", "2026-02-01"),
                    with_("lessThan", "date", "2026-03-01"),
                ]
            },
            ONLY_FAN,
        ),
        ({"orAll": [is_("category", "air"), is_("category", "machines")]}, BOTH),
        ({"orAll": [is_("owner", "ann"), is_("owner", "bob")]}, BOTH),
        ({"orAll": [with_("listContains", "tags", "wet"), with_("listContains", "tags", "none")]}, ONLY_PUMP),
        ({"orAll": [with_("startsWith", "path", "fans/"), with_("startsWith", "path", "pumps/")]}, BOTH),
        (
            {"andAll": [{"orAll": [is_("owner", "ann"), is_("owner", "bob")]}, with_("listContains", "tags", "dry")]},
            ONLY_FAN,
        ),
    ],
    ids=str,
)
def test_a_filter_lets_through_what_it_says(client: Any, tree: Any, expected: list[str]) -> None:
    replies = Replies(client)

    assert names(retrieve(client, filter=tree)) == expected
    assert replies.problems() == []


def test_half_of_a_surrogate_pair_is_refused_like_any_other_value(client: Any) -> None:
    with pytest.raises(client.exceptions.ValidationException):
        client.retrieve_and_generate(
            input={"text": "code"},
            retrieveAndGenerateConfiguration={
                "type": "KNOWLEDGE_BASE",
                "knowledgeBaseConfiguration": {"knowledgeBaseId": "EVERYTHING", "modelArn": "any"},
            },
            sessionId="\ud800\ud800",
        )


@pytest.mark.parametrize(
    ("tree", "says"),
    [
        (with_("notEquals", "date", "2026-01-31"), "ragdrop compares 'date' by equals"),
        (
            {"orAll": [with_("notEquals", "owner", "ann"), with_("notEquals", "owner", "bob")]},
            "alternatives of one key",
        ),
        (with_("stringContains", "owner", "a"), "stringContains: ragdrop compares 'owner' by equals and in alone"),
        (with_("greaterThan", "year", 2025), "greaterThan: ragdrop compares 'year'"),
        (with_("startsWith", "owner", "a"), "startsWith: ragdrop compares 'owner'"),
        (is_("tags", "red"), "ragdrop compares 'tags' by listContains alone"),
        (is_("promotion_level", "critical"), "ragdrop does not filter by 'promotion_level'"),
        (with_("startsWith", "path", "fan"), "by whole folders: the value ends with a slash"),
        (with_("greaterThan", "date", "yesterday"), "`date` is compared with a day"),
        (is_("owner", {"a": 1}), "the value is a text, a number or a boolean"),
        ({"orAll": [is_("owner", "ann"), is_("category", "air")]}, "orAll: ragdrop takes alternatives of one key"),
        (
            {"andAll": [with_("listContains", "tags", "red"), with_("listContains", "tags", "wet")]},
            "andAll: ragdrop takes alternatives of tags, not two of them at once",
        ),
        (is_("content_type", "poem"), "content_type"),
        (is_("doc_type", "manuel"), "did you mean manual?"),
    ],
    ids=str,
)
def test_a_filter_that_does_not_map_is_refused_and_says_why(client: Any, tree: Any, says: str) -> None:
    with pytest.raises(client.exceptions.ValidationException) as caught:
        retrieve(client, filter=tree)

    assert says in caught.value.response["Error"]["Message"]
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400
