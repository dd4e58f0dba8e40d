"""Create an OpenSearch index at first use, and check the server's version and plugins."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import opensearchpy

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.tenants import IndexRef
from ragdrop.errors import ConfigurationError
from ragdrop_opensearch.client import Json, RepeatableCalls
from ragdrop_opensearch.errors import translated
from ragdrop_opensearch.mapping import SHARDS, index_body

OLDEST = (2, 19)  # the oldest release that the contract suite runs against
EXISTS = "resource_already_exists_exception"
ADMIN_TIMEOUT_S = 30.0  # making an index waits for its primary shards


def path_of(name: str) -> str:
    """The name of an index as a segment of a URL's path."""
    return quote(name, safe="")


def alias_of(name: str) -> str:
    """The alias that chunks are written to: a write to an alias never makes an index, whatever the cluster allows.

    >>> alias_of("ragdrop-v1-minilm-384-1")
    'ragdrop-v1-minilm-384-1.write'
    """
    return f"{name}.write"


class IndexAdmin:
    """Makes and checks indexes for a ChunkIndex."""

    def __init__(self, caller: RepeatableCalls, *, shards: int = SHARDS) -> None:
        self._caller = caller
        self._shards = shards

    def create(self, index: IndexRef, deadline: Deadline) -> None:
        """Make the index with its alias; another process may have been quicker.

        Raises:
            ConfigurationError: The server cannot hold it, or an index of that name was made by something else.
        """
        self.check(deadline)
        body = index_body(index.dimension, alias=alias_of(index.name), shards=self._shards)
        stage = "create index"
        try:
            self._caller.raw(
                "PUT", f"/{path_of(index.name)}", body=body, deadline=deadline, cap_s=ADMIN_TIMEOUT_S, stage=stage
            )
        except opensearchpy.RequestError as exc:
            if exc.error != EXISTS:
                raise translated(exc, stage) from exc
            if alias_of(index.name) not in self._described(index, deadline)["aliases"]:
                raise ConfigurationError(
                    f"index {index.name} was not made by ragdrop: it has no alias {alias_of(index.name)}"
                ) from exc
        except opensearchpy.OpenSearchException as exc:
            raise translated(exc, stage) from exc

    def wrong_dimension(self, index: IndexRef, given: int, deadline: Deadline) -> ConfigurationError:
        """The error for vectors that do not fit, which names both dimensions."""
        fields = self._described(index, deadline)["mappings"].get("properties", {})
        held = fields.get("vector", {}).get("dimension", "no")
        return dimension_error(index, given, held)

    def check(self, deadline: Deadline) -> None:
        """Return if the server answers, is new enough and has the k-NN plugin.

        Raises:
            ConfigurationError: It is not a server that ragdrop can use.
            DatabaseError: It does not answer.
        """
        root = self._caller.call("GET", "/", deadline=deadline, cap_s=ADMIN_TIMEOUT_S, stage="check")
        problem = server_problem(root)
        if problem is None:
            rows = self._caller.call(
                "GET",
                "/_cat/plugins",
                params={"format": "json", "h": "component"},
                deadline=deadline,
                cap_s=ADMIN_TIMEOUT_S,
                stage="check",
            )
            if not any(row["component"] == "opensearch-knn" for row in rows):
                problem = "the server has no k-NN plugin (opensearch-knn), without which it cannot search vectors"
        if problem is not None:
            raise ConfigurationError(f"INDEX_URL: {problem}")

    def _described(self, index: IndexRef, deadline: Deadline) -> Json:
        path = f"/{path_of(index.name)}"
        answer = self._caller.call("GET", path, deadline=deadline, cap_s=ADMIN_TIMEOUT_S, stage="describe index")
        return next(iter(answer.values()))


def dimension_error(index: IndexRef, given: int, held: object) -> ConfigurationError:
    """The error for a vector of *given* components in an index of *held*."""
    return ConfigurationError(
        f"a vector has {given} components and index {index.name} holds vectors of {held}: "
        "EMBEDDING_MODEL and EMBEDDING_DIMENSION do not fit the index"
    )


def server_problem(root: Mapping[str, Any]) -> str | None:
    """Why the server that says *root* of itself cannot be used; None where it can.

    >>> server_problem({"version": {"distribution": "opensearch", "number": "2.11.0"}})
    'OpenSearch 2.11.0 is too old, 2.19 is the oldest that works'
    >>> server_problem({"version": {"distribution": "opensearch", "number": "3.6.0"}})
    """
    version = root.get("version", {})
    if version.get("distribution") != "opensearch":
        return "the server is not OpenSearch"
    number = str(version.get("number"))
    match = re.match(r"(\d+)\.(\d+)", number)
    if match is None or (int(match[1]), int(match[2])) < OLDEST:
        return f"OpenSearch {number} is too old, {OLDEST[0]}.{OLDEST[1]} is the oldest that works"
    return None
