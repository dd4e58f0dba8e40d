"""Asks a node how it is, over HTTP."""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any

from localstack.opensearch.jdk import UnavailableError

POLL_S = 0.2


def wait_healthy(
    url: str, *, timeout_s: float, alive: Callable[[], bool] = lambda: True, cluster: str | None = None
) -> None:
    """Return once the node at *url* is at least yellow (all primary shards answer).

    Raises:
        UnavailableError: It ended, another cluster answers there, or *timeout_s* seconds passed.
    """
    give_up_s = time.monotonic() + timeout_s
    while time.monotonic() < give_up_s:
        if not alive():
            raise UnavailableError("OpenSearch ended while it started")
        health = _get(f"{url}/_cluster/health?wait_for_status=yellow&timeout=5s")
        if health is not None:
            if cluster is not None and health["cluster_name"] != cluster:
                raise UnavailableError(f"another OpenSearch, {health['cluster_name']!r}, answers at {url}")
            if health["status"] in {"yellow", "green"}:
                return
        time.sleep(POLL_S)
    raise UnavailableError(f"OpenSearch was not healthy after {timeout_s:.0f} s")


def cluster_name(url: str) -> str | None:
    """The name of the cluster that answers at *url*; None where none does."""
    health = _get(f"{url}/_cluster/health")
    return None if health is None else str(health["cluster_name"])


def _get(url: str) -> dict[str, Any] | None:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310 the URL is our own node's
            body: dict[str, Any] = json.load(answer)
            return body
    except (urllib.error.URLError, http.client.HTTPException, OSError, ValueError):
        return None
