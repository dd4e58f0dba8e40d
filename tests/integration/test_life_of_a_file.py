"""Files dropped into the bucket by any S3 client, seen through the gateway, on the live stack."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.stacks import LocalStack

RAGDROP = Path(sys.executable).parent / "ragdrop"
WITHIN_S = 10.0
FIRST_WITHIN_S = 60.0  # the first file of a stack starts every function's process


def ragdrop(stack: LocalStack, *arguments: str) -> Any:
    """Run the command on the stack; what it printed, read as JSON."""
    environment = {**os.environ, "RAGDROP_STACK": str(stack.file), "NO_PROXY": "127.0.0.1,localhost"}
    done = subprocess.run(
        [str(RAGDROP), *arguments], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def search(stack: LocalStack, query: str, vault: str) -> list[str]:
    """The texts of all matching chunks in *vault*; none while the vault is not known yet."""
    headers = {"x-api-key": stack.api_key}
    body = {"query": query, "vaults": [vault], "limit": 20}
    response = httpx.post(f"{stack.api_url}/search", json=body, headers=headers, timeout=30, trust_env=False)
    if response.status_code == 400:
        return []
    assert response.status_code == 200, response.text
    return [chunk["text"] for found in response.json()["results"] for chunk in found["chunks"]]


def within(seconds: float, seen: Callable[[], bool]) -> float:
    """Wait until *seen*; how long it took."""
    start = time.monotonic()
    while not seen():
        assert time.monotonic() - start < seconds, f"not seen within {seconds} s"
        time.sleep(0.1)
    return time.monotonic() - start


@pytest.fixture(scope="module", params=["bucket", pytest.param("opensearch", marks=pytest.mark.long)])
def index(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def stack(index: str, request: pytest.FixtureRequest, stack: LocalStack) -> LocalStack:
    """The stack of each index, which has found a file before: a file's life is the same on both."""
    chosen: LocalStack = stack if index == "bucket" else request.getfixturevalue("opensearch_stack")
    put(chosen, "life-first", "a.md", "The lamp is lit.")
    within(FIRST_WITHIN_S, lambda: search(chosen, "lamp", "life-first") != [])
    return chosen


@pytest.fixture
def vault() -> str:
    return f"life-{uuid.uuid4().hex[:8]}"


def put(stack: LocalStack, vault: str, path: str, text: str) -> None:
    stack.client("s3").put_object(Bucket=stack.bucket, Key=f"{stack.tenant}/{vault}/{path}", Body=text.encode())


def test_a_file_that_any_s3_client_drops_is_found_by_the_command(stack: LocalStack, vault: str) -> None:
    put(stack, vault, "notes/pump room.md", "# Pump room\n\nThe valve is labelled Marzipan-7.")

    within(WITHIN_S, lambda: any("Marzipan-7" in text for text in search(stack, "valve label", vault)))

    found = ragdrop(stack, "search", "valve label", "--vault", vault, "--json")
    assert found["results"][0]["key"] == f"{stack.tenant}/{vault}/notes/pump room.md"


def test_old_words_are_never_returned_once_the_new_ones_are_found(stack: LocalStack, vault: str) -> None:
    put(stack, vault, "a.md", "The gate code is Heliotrope.")
    within(WITHIN_S, lambda: "Heliotrope" in str(search(stack, "gate code", vault)))

    put(stack, vault, "a.md", "The gate code is Vermilion.")
    within(WITHIN_S, lambda: "Vermilion" in str(search(stack, "gate code", vault)))

    for _ in range(10):
        assert "Heliotrope" not in str(search(stack, "gate code Heliotrope", vault))


def test_a_deleted_object_is_gone_within_seconds(stack: LocalStack, vault: str) -> None:
    put(stack, vault, "a.md", "The gate code is Heliotrope.")
    within(WITHIN_S, lambda: search(stack, "gate code", vault) != [])

    stack.client("s3").delete_object(Bucket=stack.bucket, Key=f"{stack.tenant}/{vault}/a.md")

    within(WITHIN_S, lambda: search(stack, "gate code", vault) == [])


def test_rm_is_true_at_once(stack: LocalStack, vault: str) -> None:
    put(stack, vault, "a.md", "The gate code is Heliotrope.")
    within(WITHIN_S, lambda: search(stack, "gate code", vault) != [])

    receipt = ragdrop(stack, "rm", f"{vault}/a.md", "--json")

    assert search(stack, "gate code", vault) == []
    assert receipt["status"] == "deleted"


def test_fifty_files_put_at_once_all_arrive(stack: LocalStack, vault: str) -> None:
    for n in range(50):
        put(stack, vault, f"batch/{n:02}.md", f"Locker {n} holds item number {n * 37}.")

    def indexed() -> int:
        headers = {"x-api-key": stack.api_key}
        url = f"{stack.api_url}/documents?vault={vault}&status=indexed&limit=100"
        return len(httpx.get(url, headers=headers, timeout=30, trust_env=False).json()["documents"])

    within(180, lambda: indexed() == 50)  # that all arrive; how soon is for the benchmarks


@pytest.mark.parametrize("path", ["a b+c.md", "Übergabe (1).md", "deep/er/no&te?.md"])
def test_odd_names_survive_the_gateway_the_event_and_the_receipt(stack: LocalStack, vault: str, path: str) -> None:
    put(stack, vault, path, "The gate code is Heliotrope.")
    within(WITHIN_S, lambda: search(stack, "gate code", vault) != [])

    assert ragdrop(stack, "show", f"{vault}/{path}", "--json")["status"] == "indexed"
    assert ragdrop(stack, "rm", f"{vault}/{path}", "--json")["path"] == path


def test_a_citation_stands_verbatim_in_the_version_of_the_object_that_it_names(stack: LocalStack, vault: str) -> None:
    put(stack, vault, "a.md", "# Gates\n\nNorth is open. The south gate closes at 21:40 every evening. East is shut.")
    within(WITHIN_S, lambda: search(stack, "south gate", vault) != [])

    answer = ragdrop(stack, "ask", "When does the south gate close?", "--vault", vault, "--json")

    [citation, *_] = answer["citations"]
    stored = stack.client("s3").get_object(
        Bucket=citation["bucket"], Key=citation["key"], VersionId=citation["version_id"]
    )
    assert "21:40" in citation["quote"]
    assert stored["Body"].read().decode()[citation["start"] : citation["end"]] == citation["quote"]
