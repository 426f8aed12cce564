"""An OTLP collector: spans come over gRPC, as the frontend sends them, and over HTTP in JSON, as Triton does."""

import base64
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import grpc
from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as messages
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc as service

_IDS = ("traceId", "spanId", "parentSpanId")


@dataclass(frozen=True)
class Span:
    """A received span; times are in seconds."""

    service: str
    name: str
    trace: str
    id: str
    parent: str
    start: float
    end: float
    attributes: dict[str, Any]
    failed: bool


class Collector(service.TraceServiceServicer):
    """Keeps all spans; an export over gRPC waits for the event ``accepting``."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.accepting = threading.Event()
        self.accepting.set()
        self.grpc = self.http = ""

    def Export(self, request: Any, context: Any) -> Any:  # noqa: N802 - gRPC's name
        self.accepting.wait(30)
        self.take(request)
        return messages.ExportTraceServiceResponse()

    def take(self, request: Any) -> None:
        for resource in request.resource_spans:
            names = {each.key: each.value.string_value for each in resource.resource.attributes}
            for scope in resource.scope_spans:
                self.spans += [_read(names.get("service.name", ""), span) for span in scope.spans]

    def of(self, trace: str) -> dict[str, list[Span]]:
        """The spans of a trace by name."""
        found: dict[str, list[Span]] = {}
        for span in self.spans:
            if span.trace == trace:
                found.setdefault(span.name, []).append(span)
        return found


def _read(name: str, span: Any) -> Span:
    attributes = {
        each.key: getattr(each.value, each.value.WhichOneof("value") or "string_value") for each in span.attributes
    }
    times = (span.start_time_unix_nano / 1e9, span.end_time_unix_nano / 1e9)
    ids = (span.trace_id.hex(), span.span_id.hex(), span.parent_span_id.hex())
    return Span(name, span.name, *ids, *times, attributes, span.status.code == 2)


def _with_ids(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_ids(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        name: base64.b64encode(bytes.fromhex(each)).decode() if name in _IDS else _with_ids(each)
        for name, each in value.items()
    }


@contextmanager
def collecting() -> Iterator[Collector]:
    """Run a collector on two free ports of this machine."""
    collector = Collector()

    class Http(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            # OTLP's JSON has ids in hexadecimal; protobuf's JSON has all bytes in base64.
            request = json_format.ParseDict(_with_ids(body), messages.ExportTraceServiceRequest())
            collector.take(request)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            return

    server = grpc.server(ThreadPoolExecutor(2))
    service.add_TraceServiceServicer_to_server(collector, server)  # type: ignore[no-untyped-call]
    collector.grpc = f"http://127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    with ThreadingHTTPServer(("127.0.0.1", 0), Http) as http:
        serving = threading.Thread(target=http.serve_forever)
        serving.start()
        collector.http = f"http://127.0.0.1:{http.server_port}/v1/traces"
        try:
            yield collector
        finally:
            collector.accepting.set()
            http.shutdown()
            serving.join()
            server.stop(None)
