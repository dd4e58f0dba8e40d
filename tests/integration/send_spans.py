"""Send the spans on standard input, as the SDK writes them, over OTLP: a program for the environment of Phoenix.

python send_spans.py URL
"""

import json
import sys
from datetime import datetime

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags


def moment(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp() * 1e9)


def context(trace: str, span: str) -> SpanContext:
    return SpanContext(int(trace, 16), int(span, 16), is_remote=False, trace_flags=TraceFlags(1))


spans = []
for each in json.load(sys.stdin):
    trace, parent = each["context"]["trace_id"], each["parent_id"]
    span = ReadableSpan(
        each["name"],
        context(trace, each["context"]["span_id"]),
        parent=context(trace, parent) if parent else None,
        attributes=each["attributes"],
        kind=SpanKind[each["kind"].partition(".")[2]],
        status=Status(StatusCode[each["status"]["status_code"]]),
        start_time=moment(each["start_time"]),
        end_time=moment(each["end_time"]),
    )
    spans.append(span)
sys.exit(OTLPSpanExporter(sys.argv[1]).export(spans) is not SpanExportResult.SUCCESS)
