"""Sixty requests of boto3's own client and what each reply must be: a program that imports nothing of ragdrop.

API and KEY are in the environment.  It prints one JSON object: how many cases each operation had, and what was wrong.
"""

from __future__ import annotations

import json
import os
import sys
import urllib.parse
import urllib.request
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import boto3
from botocore.exceptions import ClientError

from tests.botocore_shapes import SERVICE, Replies, event_problems

MODEL = "arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-3-haiku-20240307-v1:0"
GOOD = ""
INVALID, MISSING = "ValidationException", "ResourceNotFoundException"
FILES = {
    "pumps/pump.md": "---\nowner: ann\ncategory: machines\ntags: [red]\ndate: 2026-01-31\n---\n"
    "# Pump\n\nThe code of the pump is QX-5521.",
    "fans/fan.md": "---\nowner: bob\ncategory: air\ntags: [green]\ndate: 2026-02-28\n---\n# Fan\n\nThe fan is green.",
    "Übergabe.md": "# Übergabe\n\nDer Schlüssel liegt im Keller.",
}
Case = tuple[str, Mapping[str, Any], str]


def condition(operator: str, key: str, value: Any) -> dict[str, Any]:
    """One condition of a filter."""
    return {operator: {"key": key, "value": value}}


ANN, MACHINES = condition("equals", "owner", "ann"), condition("equals", "category", "machines")
FILTERS = (
    ANN,
    condition("notEquals", "owner", "ann"),
    condition("in", "owner", ["ann", "bob"]),
    condition("notIn", "owner", ["ann"]),
    condition("listContains", "tags", "red"),
    condition("startsWith", "path", "pumps/"),
    condition("greaterThan", "date", "2026-01-31"),
    condition("lessThanOrEquals", "date", "2026-01-31"),
    {"andAll": [ANN, MACHINES]},
    {"orAll": [ANN, condition("equals", "owner", "bob")]},
    {"andAll": [condition("in", "vault", ["team"]), {"orAll": [ANN, condition("equals", "owner", "bob")]}]},
)
RERANKED = {
    "type": "BEDROCK_RERANKING_MODEL",
    "bedrockRerankingConfiguration": {"modelConfiguration": {"modelArn": MODEL}, "numberOfRerankedResults": 1},
}
GUARDED = {"guardrailConfiguration": {"guardrailId": "a", "guardrailVersion": "1"}}


def retrievals(base: str) -> Iterator[Case]:
    """Requests of `Retrieve`."""

    def case(expected: str = GOOD, *, of: str = base, text: str = "code of the pump", **search: Any) -> Case:
        asked = {"knowledgeBaseId": of, "retrievalQuery": {"text": text}}
        if search:
            asked["retrievalConfiguration"] = {"vectorSearchConfiguration": search}
        return "retrieve", asked, expected

    for of in (base, "EVERYTHING", f"arn:aws:bedrock:us-east-1:111122223333:knowledge-base/{base}"):
        yield case(of=of)
    for search in ({"numberOfResults": 1}, {"numberOfResults": 100}, {"overrideSearchType": "HYBRID"}):
        yield case(**search)
    yield case(overrideSearchType="SEMANTIC")
    yield case(rerankingConfiguration=RERANKED)
    yield case(text="Wo liegt der Schlüssel? 🔑")
    for each in FILTERS:
        yield case(filter=each)
    managed = {"managedSearchConfiguration": {"numberOfResults": 2}}
    yield "retrieve", {**case()[1], "retrievalConfiguration": managed}, GOOD
    yield case(MISSING, of="KB00000000")
    yield case(INVALID, filter=condition("stringContains", "owner", "a"))
    yield "retrieve", {**case()[1], **GUARDED}, INVALID


def questions(base: str, operation: str) -> Iterator[Case]:
    """Requests of `RetrieveAndGenerate`, or of its stream."""

    def case(expected: str = GOOD, *, text: str = "What is the code of the pump?", **more: Any) -> Case:
        knowledge = {"knowledgeBaseId": base, "modelArn": MODEL, **more}
        asked = {"type": "KNOWLEDGE_BASE", "knowledgeBaseConfiguration": knowledge}
        return operation, {"input": {"text": text}, "retrieveAndGenerateConfiguration": asked}, expected

    yield case()
    yield case(knowledgeBaseId="EVERYTHING")
    yield case(text="Who won the regatta of 1911?")
    yield case(text="Wo liegt der Schlüssel? 🔑")
    yield (
        operation,
        {**case()[1], "sessionConfiguration": {"kmsKeyArn": "arn:aws:kms:us-east-1:111122223333:key/a"}},
        GOOD,
    )
    yield case(retrievalConfiguration={"vectorSearchConfiguration": {"numberOfResults": 1}})
    yield case(retrievalConfiguration={"vectorSearchConfiguration": {"filter": {"andAll": [ANN, MACHINES]}}})
    yield case(generationConfiguration={"promptTemplate": {"textPromptTemplate": "$search_results$"}})
    yield case(generationConfiguration={"inferenceConfig": {"textInferenceConfig": {"temperature": 0.1}}})
    yield case(orchestrationConfiguration={"queryTransformationConfiguration": {"type": "QUERY_DECOMPOSITION"}})
    yield case(MISSING, knowledgeBaseId="KB00000000")
    yield case(INVALID, text=" ")
    yield operation, {**case()[1], "sessionId": "never-made"}, INVALID


def rankings() -> Iterator[Case]:
    """Requests of `Rerank`."""

    def case(*texts: Any, **more: Any) -> Case:
        documents = [
            {"type": "TEXT", "textDocument": {"text": each}}
            if isinstance(each, str)
            else {"type": "JSON", "jsonDocument": each}
            for each in texts
        ]
        model = {"modelConfiguration": {"modelArn": MODEL}, **more}
        asked = {
            "queries": [{"type": "TEXT", "textQuery": {"text": "red pump"}}],
            "sources": [{"type": "INLINE", "inlineDocumentSource": each} for each in documents],
            "rerankingConfiguration": {"type": "BEDROCK_RERANKING_MODEL", "bedrockRerankingConfiguration": model},
        }
        return "rerank", asked, GOOD

    yield case("The pump is red.")
    yield case("A green valve.", "The pump is red.")
    yield case("A green valve.", "The pump is red.", numberOfResults=1)
    yield case({"name": "pump", "colour": "red"}, "A green valve.")
    yield case(*["The pump is red."] * 100)
    yield case("Die Pumpe ist rot. 🔴")
    yield case("same", "same")
    yield case("The pump is red.", numberOfResults=3)
    yield "rerank", {**case("a")[1], "nextToken": "1"}, INVALID
    yield case("The pump is red.", "A green valve.", "A fan.", numberOfResults=2)


def sent(api: str, key: str, path: str, body: bytes | None = None) -> Any:
    """What a request of plain HTTP is answered with: a PUT where there is a body."""
    headers = {"x-api-key": key, "content-type": "text/markdown"}
    method = "PUT" if body else "GET"
    request = urllib.request.Request(api + path, body, headers, method=method)  # noqa: S310 - the test's own server
    with urllib.request.urlopen(request) as reply:  # noqa: S310 - as above
        return json.load(reply)


def outcome(client: Any, operation: str, asked: Mapping[str, Any]) -> tuple[str, list[str]]:
    """The name of the error, empty where there is none, and what the service's model does not allow."""
    replies = Replies(client)
    try:
        reply = getattr(client, operation)(**asked)
    except ClientError as exc:
        return str(exc.response["Error"]["Code"]), []
    if "stream" not in reply:
        return GOOD, replies.problems()
    raw = b"".join(reply["stream"]._raw_stream.stream())
    return GOOD, event_problems(client, raw) or ([] if raw else ["nothing came"])


def main() -> None:
    """Put, ask, and print what was found."""
    api, key = os.environ["API"], os.environ["KEY"]
    for path, text in FILES.items():
        sent(api, key, f"/documents/team/{urllib.parse.quote(path)}", text.encode())
    [vault] = sent(api, key, "/vaults")["vaults"]
    base = vault["knowledge_base_id"]
    streamed = questions(base, "retrieve_and_generate_stream")
    cases = [*retrievals(base), *questions(base, "retrieve_and_generate"), *streamed, *rankings()]
    client = boto3.client(SERVICE, region_name="us-east-1")
    wrong = []
    for place, (operation, asked, expected) in enumerate(cases):
        found, problems = outcome(client, operation, asked)
        if found != expected or problems:
            wrong.append([place, operation, found, problems])
    client.close()
    own = [name for name in sys.modules if name.partition(".")[0] == "ragdrop"]
    counts = Counter(operation for operation, _, _ in cases)
    print(json.dumps({"cases": counts, "wrong": wrong, "imported": own}))


if __name__ == "__main__":
    main()
