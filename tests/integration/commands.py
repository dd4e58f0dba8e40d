"""What the tests of the live stack do as a user does: run `ragdrop`, ask the API, wait until something is seen."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests.stacks import LocalStack

RAGDROP = Path(sys.executable).parent / "ragdrop"
PATIENCE_S = 120.0  # for one answer: the first call of a function starts its process, on a machine that may be busy
WHOLE = os.environ.get("RAGDROP_WHOLE") == "1"  # `make test-long`: nothing is shortened


@dataclass(frozen=True)
class Tenant:
    """A tenant of one test module on a live stack, and the key of an admin of it."""

    stack: LocalStack
    name: str
    key: str

    @classmethod
    def created(cls, stack: LocalStack, purpose: str) -> Tenant:
        name = f"{purpose}-{uuid.uuid4().hex[:6]}"
        operate(stack, "tenant", "create", name)
        return cls(
            stack, name, json.loads(operate(stack, "key", "create", name, "--role", "admin", "--json"))["api_key"]
        )

    def ragdrop(self, *arguments: str, timeout_s: float = 120, **named: Any) -> subprocess.CompletedProcess[str]:
        """Run the command with this tenant's key."""
        reached = {"RAGDROP_API_URL": self.stack.api_url, "RAGDROP_API_KEY": self.key}
        return run(self.stack, *arguments, timeout_s=timeout_s, **reached, **named)

    def put(self, name: str, text: str) -> str:
        """Drop a file as `vault/path` into the bucket, past the API; its version."""
        stored = self.stack.client("s3").put_object(
            Bucket=self.stack.bucket, Key=f"{self.name}/{name}", Body=text.encode()
        )
        return str(stored["VersionId"])

    def get(self, route: str, **params: str) -> dict[str, Any]:
        response = httpx.get(
            self.stack.api_url + route,
            params=params,
            headers={"x-api-key": self.key},
            timeout=PATIENCE_S,
            trust_env=False,
        )
        assert response.status_code == 200, response.text
        return dict(response.json())

    def listed(self, vault: str, status: str = "") -> list[dict[str, Any]]:
        """Records of the vault, up to 1,000 of them."""
        return list(
            self.get("/documents", vault=vault, limit="1000", **({"status": status} if status else {}))["documents"]
        )

    def search(self, query: str, vault: str, **fields: object) -> str:
        """The texts of all matching chunks, one under the other; *fields* go into the request."""
        body = {"query": query, "vaults": [vault], "limit": 20, **fields}
        response = httpx.post(
            f"{self.stack.api_url}/search",
            json=body,
            headers={"x-api-key": self.key},
            timeout=PATIENCE_S,
            trust_env=False,
        )
        assert response.status_code == 200, response.text
        return "\n".join(chunk["text"] for found in response.json()["results"] for chunk in found["chunks"])


def environment(stack: LocalStack) -> dict[str, str]:
    """What `ragdrop` runs with on *stack*: nothing of the caller's own deployment."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "RAGDROP_"))}
    return kept | {"RAGDROP_STACK": str(stack.file), "NO_PROXY": "127.0.0.1,localhost"}


def run(stack: LocalStack, *arguments: str, timeout_s: float = 120, **named: Any) -> subprocess.CompletedProcess[str]:
    """Run `ragdrop` on *stack*, with *named* in its environment."""
    return subprocess.run(
        [str(RAGDROP), *arguments],
        env=environment(stack) | named,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )


def operate(stack: LocalStack, *arguments: str, **named: Any) -> str:
    """Run a command that must succeed; what it printed."""
    done = run(stack, *arguments, **named)
    assert done.returncode == 0, f"{arguments}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def within(seconds: float, seen: Callable[[], object], *, every_s: float = 0.2) -> float:
    """Wait until *seen*; how long it took."""
    start = time.monotonic()
    while not seen():
        assert time.monotonic() - start < seconds, f"not seen within {seconds} s"
        time.sleep(every_s)
    return time.monotonic() - start
