"""Metrics as lines of the embedded metric format: CloudWatch reads them from the function's log, nothing is called.

Dimensions are stage and dependency, never function, tenant, agent or path: each value of one is a metric that is paid
for.  Every value is also put by stage alone, so that one alarm covers all.  The line names its function.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any

from aws_lambda_powertools.metrics.provider.cloudwatch_emf.cloudwatch import AmazonCloudWatchEMFProvider

from ragdrop.errors import ConfigurationError
from ragdrop.ports.search_services import SpanFields
from ragdrop.ports.telemetry import NAMESPACE, UNITS

PREFIX = "ragdrop."
_around: ContextVar[Any] = ContextVar("ragdrop_span", default=None)


class EmfMetrics:
    """Metrics of one function of one stage.

    Args:
        function: The function's short name, such as `query`.
        stage: What distinguishes this deployment from others in the account.
    """

    def __init__(self, *, function: str, stage: str) -> None:
        self._function = function
        self._stage = stage

    def put(self, values: Mapping[str, float], *, dependency: str | None = None) -> None:
        # one a line: the shared one of Powertools mixes what threads put; an empty service adds no dimension
        line = AmazonCloudWatchEMFProvider(namespace=NAMESPACE, service="")
        line.add_dimension("stage", self._stage)
        if dependency:
            line.add_dimensions(stage=self._stage, dependency=dependency)
        line.add_metadata("function", self._function)
        for name, value in values.items():
            line.add_metric(name, UNITS[name], value)
        line.flush_metrics(raise_on_empty_metrics=True)


class NoMetrics:
    """Takes metrics and keeps none."""

    def put(self, values: Mapping[str, float], *, dependency: str | None = None) -> None:  # noqa: ARG002 - the port's
        """Only make sure that every name exists."""
        for name in values:
            UNITS[name]


class OpenTelemetryTracer:
    """Spans below the one that the layer makes for the request; a stage is a span `ragdrop.STAGE`.

    No span is made the current one of OpenTelemetry: a streamed answer continues in other threads than it began in,
    where its context could not be given back.  Which span is around another one is known from a variable of ours.

    Raises ConfigurationError: the packages are not there.
    """

    def __init__(self) -> None:
        try:
            from opentelemetry import trace
        except ImportError as exc:
            raise ConfigurationError(
                "TRACING is true, but OpenTelemetry is not there: give TracingLayerArn the layer that brings it"
            ) from exc
        self._trace = trace
        self._tracer = trace.get_tracer("ragdrop")
        self._failed = trace.StatusCode.ERROR

    @contextmanager
    def span(
        self, name: str, fields: SpanFields, *, client: bool = False, leaf: bool = False
    ) -> Iterator[Callable[[SpanFields], None]]:
        """A span from the beginning of the block to its end; of an error it has the type, never the message."""
        around = _around.get()
        span = self._tracer.start_span(
            name,
            context=None if around is None else self._trace.set_span_in_context(around),
            kind=self._trace.SpanKind.CLIENT if client else self._trace.SpanKind.INTERNAL,
            attributes=_known(fields),
        )
        token = None if leaf else _around.set(span)
        try:
            yield lambda more: span.set_attributes(_known(more))
        except BaseException as exc:
            span.set_attribute("error.type", type(exc).__name__)
            span.set_status(self._failed, type(exc).__name__)
            raise
        finally:
            if token is not None:
                with suppress(ValueError):  # a generator that is closed from elsewhere has another context
                    _around.reset(token)
            span.end()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        with self.span(f"{PREFIX}{name}", {}):
            yield


def _known(fields: SpanFields) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
