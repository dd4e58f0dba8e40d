"""boto3's client for Bedrock's knowledge bases as it is, and a strict reading of the service's model for replies."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3
from botocore.config import Config

from ragdrop.api.shapes.knowledge_base_shapes import knowledge_base_id
from tests.agent_world import eager_world
from tests.botocore_shapes import SERVICE
from tests.world import World

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
