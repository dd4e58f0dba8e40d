"""Addresses that replies name open where the caller is, and errors name what comes nearest."""

from __future__ import annotations

from tests.functions.conftest import EXAMPLE_BUCKET, Deployment, LocalContext


def test_an_unknown_field_is_named_with_the_nearest_that_there_is(deployment: Deployment) -> None:
    for function, field, near in (("query", "vault", "vaults"), ("generate", "min_relevence", "min_relevance")):
        status, body = deployment.post(function, {"query": "pump", field: "x"})

        assert status == 400
        assert body["error"]["message"] == f"{field}: is not a field of this request; did you mean {near}?"
        assert near in body["error"]["details"]["allowed"]


def test_the_root_leads_a_browser_to_the_page_and_names_it_to_others(deployment: Deployment) -> None:
    event = deployment.event("search", httpMethod="GET", path="/", body=None)
    event["headers"]["Accept"] = "text/html,*/*"
    event["multiValueHeaders"]["Accept"] = ["text/html,*/*"]
    page = deployment.handlers["query"].handler(event, LocalContext())
    _, plain = deployment.send("GET", "/")

    host = "https://abc123example.execute-api.eu-central-1.amazonaws.com/local"
    headers = {name.lower(): value for name, value in page["headers"].items()}
    assert (page["statusCode"], headers["location"]) == (307, f"{host}/app")
    assert plain["app"] == f"{host}/app"


def test_links_of_a_local_stack_have_the_path_of_its_emulator(deployment: Deployment) -> None:
    event = deployment.event("search", httpMethod="PUT", path="/documents/handbook/a.md", body="# A")
    del event["requestContext"]["domainName"]
    for name, headers in (("headers", ["localhost:4566"]), ("multiValueHeaders", [["localhost:4566"]])):
        event[name]["Host"] = headers[0]
    del event["headers"]["Content-Type"], event["multiValueHeaders"]["Content-Type"]

    status, body = deployment.call("query", event)

    base = "http://localhost:4566/restapis/abc123example/local/_user_request_"
    assert status == 202
    assert body["status_url"].startswith(f"{base}/documents/handbook/a.md?version=")
    stored = deployment.s3.head_object(Bucket=EXAMPLE_BUCKET, Key="demo/handbook/a.md")
    assert stored["ContentType"] == "text/markdown"


def test_a_citation_links_to_its_evidence_in_the_page(deployment: Deployment) -> None:
    deployment.put_object("demo/handbook/pump.md", "The pump's code is QX-5521.")
    deployment.chat.reply = "The pump's code is QX-5521. [1]"

    _, body = deployment.post("generate", {"query": "What is the pump's code?"})

    [citation] = body["citations"]
    assert citation["url"].startswith(
        "https://abc123example.execute-api.eu-central-1.amazonaws.com/local/app#/documents/"
    )
    assert citation["url"].endswith(f"&span={citation['start']}-{citation['end']}")
