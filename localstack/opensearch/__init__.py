"""A real OpenSearch node on the laptop: assembled from Maven artifacts or run by Docker, started, awaited, stopped."""

from localstack.opensearch.assembly import UnavailableError
from localstack.opensearch.node import Node, find, forget, noted, start, stop

__all__ = ["Node", "UnavailableError", "find", "forget", "noted", "start", "stop"]
