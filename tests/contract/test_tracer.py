"""What every Tracer does: in memory, and by the real SDK of OpenTelemetry."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from ragdrop.errors import DatabaseError
from ragdrop.ports.search_services import Tracer
from ragdrop.stores.aws.monitoring import PREFIX, OpenTelemetryTracer
from testing.memory_services import MemoryTracer

SPANS = InMemorySpanExporter()
PROVIDER = TracerProvider(shutdown_on_exit=False)
PROVIDER.add_span_processor(SimpleSpanProcessor(SPANS))
trace.set_tracer_provider(PROVIDER)  # once a process, as the layer does it

Told = Callable[[], list[tuple[str, str | None]]]


@pytest.fixture(params=["memory", "OpenTelemetry"])
def tracer(request: pytest.FixtureRequest) -> tuple[Tracer, Told]:
    """A tracer, and what reads the stages that ended."""
    if request.param == "memory":
        memory = MemoryTracer()
        return memory, lambda: memory.ended
    SPANS.clear()
    spans = SPANS.get_finished_spans
    return OpenTelemetryTracer(), lambda: [(s.name.removeprefix(PREFIX), s.status.description) for s in spans()]


def test_a_stage_is_reported_when_it_ends(tracer: tuple[Tracer, Told]) -> None:
    tracing, told = tracer
    with tracing.stage("embed"):
        assert told() == []
    with tracing.stage("retrieve"):
        pass

    assert told() == [("embed", None), ("retrieve", None)]


def test_a_stage_that_fails_reports_the_errors_type_and_not_its_words(tracer: tuple[Tracer, Told]) -> None:
    tracing, told = tracer
    with pytest.raises(DatabaseError), tracing.stage("retrieve"):
        raise DatabaseError("what the document says", service="index")

    assert told() == [("retrieve", "DatabaseError")]
    assert all(not span.events for span in SPANS.get_finished_spans())


def test_a_span_is_below_the_one_that_the_request_has() -> None:
    SPANS.clear()
    with trace.get_tracer("lambda").start_as_current_span("POST /search"), OpenTelemetryTracer().stage("embed"):
        pass

    stage, request = SPANS.get_finished_spans()
    assert request.context is not None
    assert stage.parent is not None
    assert (stage.name, stage.parent.span_id) == ("ragdrop.embed", request.context.span_id)
