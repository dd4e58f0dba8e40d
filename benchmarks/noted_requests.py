"""The requests that the OpenSearch adapter sent, noted so that a plain client can send the very same again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opensearchpy import OpenSearch

from ragdrop_opensearch.client import QuietConnection

Call = Callable[[], object]
Notes = list[tuple[str, Call]]
"""What was asked, and how to ask it again; `candidates` is an `_msearch`."""


def noting(url: str, notes: Notes) -> type[QuietConnection]:
    """A connection whose requests are noted, to be sent again by a plain client."""
    client = OpenSearch(url)

    class Noting(QuietConnection):
        def perform_request(
            self, method: str, url: str, params: Any = None, body: Any = None, *rest: Any, **more: Any
        ) -> Any:
            """One request."""
            again = lambda: client.transport.perform_request(method, url, params=params, body=body)  # noqa: E731
            notes.append(("candidates" if "_msearch" in url else url, again))
            return super().perform_request(method, url, params, body, *rest, **more)

    return Noting
