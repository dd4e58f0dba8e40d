"""How the SDK reads DynamoDB's answers: refused where they are no JSON, and taken as they are where that is enough."""

from __future__ import annotations

import json
from typing import Any

from botocore.parsers import ResponseParserError

READS = ("BatchGetItem", "GetItem", "Query")
BINARY = (b'"B"', b'"BS"')
OK = 200


def read_answers_plainly(client: Any) -> None:
    """Let *client*, a low-level DynamoDB client, read items by the JSON decoder alone.

    The SDK walks through every attribute by the model of the service, eleven possible kinds each: most of the processor
    time of a batch read.  But for binary values the JSON has items as the SDK gives them; what may hold some is left to
    it.  Done by its events `before-parse` and `after-call`, and by nothing of its inside.
    """
    for operation in READS:
        client.meta.events.register(f"before-parse.dynamodb.{operation}", _take_as_it_is)
    client.meta.events.register("after-call.dynamodb", _refuse_garbage)


def _take_as_it_is(response_dict: dict[str, Any], customized_response_dict: dict[str, Any], **_: Any) -> None:
    body = response_dict["body"]
    if response_dict["status_code"] != OK or any(kind in body for kind in BINARY):
        return
    try:
        answer = json.loads(body)
    except ValueError:
        return  # the SDK takes it for an empty answer, and then it is refused
    if isinstance(answer, dict):
        customized_response_dict.update({name: value for name, value in answer.items() if value is not None})
        response_dict["body"] = b"{}"


def _refuse_garbage(http_response: Any, **_: Any) -> None:
    """The SDK takes a body that it cannot read for an empty answer, and an empty answer means that nothing is there.

    Raises:
        ResponseParserError: It is no JSON object.
    """
    body = http_response.content
    if not (body.startswith(b"{") and body.rstrip().endswith(b"}")):
        raise ResponseParserError("the body is no JSON object")
