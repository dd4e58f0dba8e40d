"""Answers that stream through the gateway, where the parameter says so."""

from __future__ import annotations

import os

from tests.architecture.cloudformation import REPOSITORY, Resource, of_type

STREAMED = ("/ask", "/v1/{proxy+}", "/retrieveAndGenerate", "/retrieveAndGenerateStream")
STORED = ("/v1/files", "/v1/vector_stores", "/v1/vector_stores/{proxy+}")
METHODS = {"get", "post", "put", "patch", "delete", "head", "options"}
INTEGRATION = "x-amazon-apigateway-integration"


def test_answers_stream_through_the_gateway_only_where_the_parameter_says_so(
    template: Resource, resources: dict[str, Resource]
) -> None:
    paths = resources["Api"]["Properties"]["DefinitionBody"]["paths"]

    assert template["Parameters"]["ResponseStreaming"]["Default"] == "false"
    assert set(paths) == {*STREAMED, *STORED}
    for integration in (paths[path][method][INTEGRATION] for path in STREAMED for method in METHODS):
        condition, streamed, buffered = integration["uri"]["Fn::If"]
        assert condition == "StreamsResponses"
        assert integration["responseTransferMode"] == {"Fn::If": [condition, "STREAM", "BUFFERED"]}
        assert "path/2021-11-15/" in streamed["Fn::Sub"][0]
        assert streamed["Fn::Sub"][0].endswith("/response-streaming-invocations")
        assert "path/2015-03-31/" in buffered["Fn::Sub"][0]
        assert buffered["Fn::Sub"][0].endswith("/invocations")
        assert streamed["Fn::Sub"][1] == buffered["Fn::Sub"][1] == {"Alias": {"Ref": "GenerateFunction.Alias"}}


def test_the_query_function_serves_what_the_openai_protocol_says_of_stored_files(
    resources: dict[str, Resource],
) -> None:
    paths = resources["Api"]["Properties"]["DefinitionBody"]["paths"]

    for path in STORED:
        assert set(paths[path]) == METHODS
        for method in METHODS:
            integration = paths[path][method][INTEGRATION]
            assert integration["uri"]["Fn::Sub"][1] == {"Alias": {"Ref": "QueryFunction.Alias"}}
            assert integration["type"] == "aws_proxy"
    assert {"Get", "Post"} <= set(resources["QueryFunction"]["Properties"]["Events"]), "their permissions cover /v1/*"


def test_the_gateway_may_call_the_routes_that_are_no_events(resources: dict[str, Resource]) -> None:
    permitted = of_type(resources, "AWS::Lambda::Permission").values()

    assert {each["FunctionName"]["Ref"] for each in permitted} == {"GenerateFunction.Alias"}
    paths = sorted(each["SourceArn"]["Fn::Sub"].partition("/*/*")[2] for each in permitted)
    assert paths == ["/ask", "/retrieveAndGenerate*", "/v1/*"]


def test_every_method_of_the_function_that_may_stream_has_one_transfer_mode(resources: dict[str, Resource]) -> None:
    paths = resources["Api"]["Properties"]["DefinitionBody"]["paths"]

    assert "Events" not in resources["GenerateFunction"]["Properties"], "an event's method is always buffered"
    assert all(set(paths[path]) == METHODS for path in STREAMED)


def test_behind_the_web_adapter_the_handler_is_a_script_that_can_be_run(resources: dict[str, Resource]) -> None:
    properties = resources["GenerateFunction"]["Properties"]
    script = REPOSITORY / "functions/generate" / properties["Handler"]["Fn::If"][1]

    assert properties["Handler"]["Fn::If"] == ["StreamsResponses", "run.sh", "app.handler"]
    assert properties["Environment"]["Variables"]["AWS_LWA_INVOKE_MODE"]["Fn::If"][1] == "response_stream"
    assert os.access(script, os.X_OK)
    assert "uvicorn app:adapted" in script.read_text("utf-8")
