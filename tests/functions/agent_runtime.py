"""boto3's client for Bedrock's knowledge bases as it is, and a strict reading of the service's model for replies."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3
from botocore.config import Config
from botocore.eventstream import EventStreamBuffer
from botocore.model import Shape
from botocore.validate import ParamValidator

from ragdrop.api.shapes.knowledge_base_shapes import knowledge_base_id
from tests.agent_world import eager_world
from tests.world import World

SERVICE = "bedrock-agent-runtime"
MODEL = "arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-3-haiku-20240307-v1:0"


@contextmanager
def agent_runtime(url: str, key: str) -> Iterator[Any]:
    """The client; the key travels as the session token of AWS credentials."""
    client = boto3.client(
        SERVICE,
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id="ragdrop",
        aws_secret_access_key="ragdrop",
        aws_session_token=key,
        config=Config(retries={"max_attempts": 1, "mode": "standard"}),
    )
    try:
        yield client
    finally:
        client.close()


class Replies:
    """Keeps what a client receives, unread, and reports what the service's model does not allow in it."""

    def __init__(self, client: Any) -> None:
        self.bodies: list[tuple[str, Any]] = []
        client.meta.events.register(f"before-parse.{SERVICE}", self._keep)

    def _keep(self, operation_model: Any, response_dict: Any, **_more: Any) -> None:
        if response_dict["status_code"] == 200 and not operation_model.has_event_stream_output:
            self.bodies.append((operation_model.output_shape, json.loads(response_dict["body"])))

    def problems(self) -> list[str]:
        """What is wrong with all replies so far, which are at least one."""
        assert self.bodies
        return [each for shape, body in self.bodies for each in problems_of(body, shape)]


def problems_of(value: Any, shape: Shape) -> list[str]:
    """What botocore's validator reports of *value*, and what it leaves out: largest lengths, patterns and enums."""
    report = ParamValidator().validate(value, shape)
    found = [report.generate_report()] if report.has_errors() else []
    return [*found, *_beyond(value, shape, shape.name)]


def _beyond(value: Any, shape: Shape, place: str) -> Iterator[str]:
    kind: Any = shape
    most, pattern = shape.metadata.get("max"), shape.metadata.get("pattern")
    if most is not None and (value if isinstance(value, int | float) else len(value)) > most:
        yield f"{place}: over {most}"
    if pattern and "\\P{" not in pattern and not re.search(pattern, value):
        yield f"{place}: {value!r} is not {pattern}"
    if getattr(shape, "enum", None) and value not in kind.enum:
        yield f"{place}: {value!r} is none of {kind.enum}"
    if shape.type_name == "structure" and not kind.is_document_type:
        for name, each in value.items():
            yield from _beyond(each, kind.members[name], f"{place}.{name}")
    elif shape.type_name == "list":
        for each in value:
            yield from _beyond(each, kind.member, f"{place}[]")
    elif shape.type_name == "map":
        for name, each in value.items():
            yield from _beyond(name, kind.key, place)
            yield from _beyond(each, kind.value, f"{place}.{name}")


def event_problems(client: Any, raw: bytes) -> list[str]:
    """What the service's model does not allow in the messages of an event stream."""
    output = client.meta.service_model.operation_model("RetrieveAndGenerateStream").get_event_stream_output()
    buffer = EventStreamBuffer()
    buffer.add_data(raw)
    found: list[str] = []
    for message in buffer:
        name = message.headers[":event-type"]
        found += problems_of(json.loads(message.payload), output.members[name])
    return found


PUMP = "---\n{}\n---\n# Pump\n\nThe pump's code is QX-5521. It was built in 1987."
FAN = "---\n{}\n---\n# Fan\n\nThe fan's code is LK-9017."
TEAM, OPS = map(knowledge_base_id, ("team", "ops"))
URI = "s3://documents/acme"
REPLY = "The pump's code is QX-5521. [1]"


def filled_world() -> World:
    """A world with two documents of one vault, with metadata, and one of another."""
    world = eager_world()
    pump = (
        "category: machines\ntags: [red, wet]\ndate: 2026-01-31\ndoc_type: manual\nowner: ann\nyear: 2026\ndry: false"
    )
    fan = "category: air\ntags: [red, dry]\ndate: 2026-02-28T10:00:00+00:00\ndoc_type: note\nowner: bob\nsession_id: s1"
    world.put("team/pumps/pump.md", PUMP.format(pump))
    world.put("team/fans/fan.md", FAN.format(fan))
    world.put("ops/pump.md", "# Pump of ops\n\nThe code of the pump of ops is ZZ-1.")
    world.chat.reply = REPLY
    return world


def retrieve(client: Any, base: str = TEAM, text: str = "code", **search: Any) -> Any:
    """A search of one knowledge base."""
    configuration = {"vectorSearchConfiguration": search} if search else {}
    return client.retrieve(knowledgeBaseId=base, retrievalQuery={"text": text}, retrievalConfiguration=configuration)


def names(found: Any) -> list[str]:
    """The documents of what was retrieved, each once."""
    return sorted({each["metadata"]["path"].rpartition("/")[2] for each in found["retrievalResults"]})
