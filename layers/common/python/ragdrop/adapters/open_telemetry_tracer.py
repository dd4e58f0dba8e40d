"""Traces by OpenTelemetry, whose packages come with a Lambda layer of AWS's and not with ours (ADR 0011)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ragdrop.errors import ConfigurationError

PREFIX = "ragdrop."


class OpenTelemetryTracer:
    """A span `ragdrop.STAGE` for each stage, below the one that the layer makes for the request.

    No span is made the current one: a streamed answer goes on in other threads than it began in, where the context of
    OpenTelemetry could not be given back.

    Raises:
        ConfigurationError: The packages are not there.
    """

    def __init__(self) -> None:
        try:
            from opentelemetry import trace
        except ImportError as exc:
            raise ConfigurationError(
                "TRACING is true, but OpenTelemetry is not there: give TracingLayerArn the layer that brings it"
            ) from exc
        self._tracer = trace.get_tracer("ragdrop")
        self._failed = trace.StatusCode.ERROR

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """A span from the beginning of the block to its end; of an error its type alone is told, never its words."""
        span = self._tracer.start_span(f"{PREFIX}{name}")
        try:
            yield
        except BaseException as exc:
            span.set_status(self._failed, type(exc).__name__)
            raise
        finally:
            span.end()
