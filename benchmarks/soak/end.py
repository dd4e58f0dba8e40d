"""How a soak must end: its queue empty, and bucket, registry and index of one mind."""

from __future__ import annotations

import json
import time
from typing import Any

import httpx

from benchmarks.soak.ledger import ABSENT
from benchmarks.soak.work import DOCUMENTS, REPLY_TIMEOUT_S, Soak, judge

DRAINED_WITHIN_S = 240.0
WAITING = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible", "ApproximateNumberOfMessagesDelayed")


def at_the_end(soak: Soak, queues: Any, queue_url: str) -> float | None:
    """Wait until all has settled; every difference becomes a problem of the tally.

    Returns:
        Seconds until the queue was empty and the registry as the bucket; None where that took too long.
    """
    begun, differences = time.monotonic(), ["not looked at"]
    headers = {"x-api-key": soak.place.key}
    with httpx.Client(headers=headers, timeout=REPLY_TIMEOUT_S, trust_env=False) as client:
        while time.monotonic() - begun < DRAINED_WITHIN_S:
            waiting = _waiting(queues, queue_url)
            differences = [f"{waiting} messages wait"] if waiting else _differences(soak, client)
            if not differences:
                break
            time.sleep(1)
        taken_s = time.monotonic() - begun
        dead = _waiting(queues, _dead_letters(queues, queue_url))
        if dead:
            soak.tally.wrong(f"{dead} messages are in the dead-letter queue")
        for each in differences:
            soak.tally.wrong(f"in the end {each}")
        _ask_for_all(soak, client)
    return None if differences else taken_s


def _waiting(queues: Any, url: str) -> int:
    found = queues.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    return sum(int(found.get(name, 0)) for name in WAITING)


def _dead_letters(queues: Any, url: str) -> str:
    found = queues.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    arn = str(json.loads(found["RedrivePolicy"])["deadLetterTargetArn"])
    return str(queues.get_queue_url(QueueName=arn.rpartition(":")[2])["QueueUrl"])


def _differences(soak: Soak, client: httpx.Client) -> list[str]:
    """Where the registry does not say what the bucket holds."""
    place = soak.place
    prefix = f"{place.tenant}/{place.vault}/"
    pages = place.objects.get_paginator("list_object_versions").paginate(Bucket=place.bucket, Prefix=prefix)
    held = {
        each["Key"].removeprefix(prefix): each["VersionId"]
        for page in pages
        for each in page.get("Versions", [])
        if each["IsLatest"]
    }
    response = client.get(f"{place.api_url}/documents", params={"vault": place.vault, "limit": 1000})
    if response.is_error:
        return [f"the list of documents answers {response.status_code}"]
    known = {
        each["path"]: each["live_version_id"] for each in response.json()["documents"] if each["status"] != "deleted"
    }
    return [
        f"{path} is {held.get(path)} in the bucket and {known.get(path)} in the registry"
        for path in sorted({*held, *known})
        if held.get(path) != known.get(path)
    ]


def _ask_for_all(soak: Soak, client: httpx.Client) -> None:
    """Ask for each document by its own words: what the bucket has is found, and nothing else."""
    for document in range(DOCUMENTS):
        if soak.ledger.last(document) == ABSENT:
            continue
        body = {
            "query": f"the word of locker {document}",
            "vaults": [soak.place.vault],
            "limit": 20,
            "min_relevance": 0,
        }
        sent_s = time.monotonic()
        response = client.post(f"{soak.place.api_url}/search", json=body)
        if response.is_error:
            soak.tally.failed("search", response.status_code, response.json())
        else:
            judge(soak, response.json(), document, sent_s, time.monotonic())
