"""A strict reading of replies by botocore's model of the service: nothing of ragdrop is imported here."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from botocore.eventstream import EventStreamBuffer
from botocore.model import Shape
from botocore.validate import ParamValidator

SERVICE = "bedrock-agent-runtime"


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
