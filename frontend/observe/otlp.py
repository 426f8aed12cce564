"""Spans over OTLP, by OpenTelemetry's SDK. A thread sends them from a bounded queue; a full queue drops them.

OpenTelemetry's instrumentation of aiohttp is not used: it names spans by paths, which may contain keys, and does not
record disconnects. Its instrumentation of gRPC would trace every probe, four per second of each Triton.
"""

import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ParentBased, TraceIdRatioBased
from opentelemetry.trace import Span, SpanKind, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from frontend.catalogue.version import VERSION
from frontend.observe.logs import Outage
from frontend.observe.metrics import SPANS_LOST
from frontend.observe.tracing import Attributes, Tracer

# Most spans in the queue and in one export, and milliseconds between exports.
_MOST_SPANS = 4096
_BATCH = 512
_PAUSE_MS = 1000
# Seconds for one export, and for the export of the rest when the process ends.
_SEND_SECONDS = 2
_LAST_SECONDS = 2
_HEADER = "traceparent"


class _Exporter(SpanExporter):
    """Exports to the collector, in the SDK's thread. After ``finish``, only for a short time."""

    def __init__(self, endpoint: str) -> None:
        self._exporter = OTLPSpanExporter(endpoint, timeout=_SEND_SECONDS)
        self._outage = Outage("the collector takes no spans; they are lost", "the collector takes spans again")
        self._over_at: float | None = None

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        is_over = self._over_at is not None and time.monotonic() > self._over_at
        result = SpanExportResult.FAILURE if is_over else self._exporter.export(spans)
        lost = result is not SpanExportResult.SUCCESS
        if lost:
            SPANS_LOST.inc(len(spans))
        self._outage.note(ConnectionError("not sent") if lost else None)
        return result

    def finish(self) -> None:
        self._over_at = time.monotonic() + _LAST_SECONDS

    def shutdown(self) -> None:
        self._exporter.shutdown()


class OtlpTracer(Tracer):
    """Samples by trace id alone. The caller's sampled flag has no effect."""

    def __init__(self, endpoint: str, ratio: float) -> None:
        # OpenTelemetry would log a line for each lost batch.
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
        part = TraceIdRatioBased(ratio)
        sampler = ParentBased(part, remote_parent_sampled=part, remote_parent_not_sampled=ALWAYS_OFF)
        resource = Resource.create({"service.name": "quartet", "service.version": VERSION})
        self._provider = TracerProvider(sampler=sampler, resource=resource, shutdown_on_exit=False)
        self._exporter = _Exporter(endpoint)
        gathering = BatchSpanProcessor(
            self._exporter, max_queue_size=_MOST_SPANS, max_export_batch_size=_BATCH, schedule_delay_millis=_PAUSE_MS
        )
        self._provider.add_span_processor(gathering)
        self._tracer = self._provider.get_tracer("quartet", VERSION)
        self._propagator = TraceContextTextMapPropagator()

    def request(self, name: str, traceparent: str) -> AbstractContextManager[str]:
        """Begin a span. The caller's ``tracestate`` is dropped: it could fill the header of calls to Triton."""
        parent = self._propagator.extract({_HEADER: traceparent})
        return _current(self._tracer.start_span(name, parent, SpanKind.SERVER))

    def span(self, name: str) -> AbstractContextManager[object]:
        return _current(self._tracer.start_span(name))

    def call(self, name: str, attributes: Attributes) -> AbstractContextManager[object]:
        return _current(self._tracer.start_span(name, None, SpanKind.CLIENT, _named(attributes)))

    def note(self, attributes: Attributes, *, failed: bool) -> None:
        span = trace.get_current_span()
        span.set_attributes(_named(attributes))
        if failed:
            span.set_status(StatusCode.ERROR)

    def outgoing(self) -> dict[str, str]:
        headers: dict[str, str] = {}
        # Triton traces every call that names a trace, so send only sampled ones.
        if trace.get_current_span().get_span_context().trace_flags.sampled:
            self._propagator.inject(headers)
        return headers

    def close(self) -> None:
        self._exporter.finish()
        self._provider.shutdown()


@contextmanager
def _current(span: Span) -> Iterator[str]:
    """Make a span the running task's, and yield its trace id.

    It records the name of an error, not its message, which may quote a caller.
    """
    with trace.use_span(span, end_on_exit=True, record_exception=False, set_status_on_exception=False):
        try:
            yield trace.format_trace_id(span.get_span_context().trace_id)
        except Exception as error:
            span.set_status(StatusCode.ERROR, type(error).__name__)
            raise


def _named(attributes: Attributes) -> dict[str, Any]:
    return {f"quartet.{name}": value for name, value in attributes.items() if value is not None}
