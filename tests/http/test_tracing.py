"""Spans of requests, as a collector gets them."""

import asyncio
import dataclasses
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator

import pytest

from frontend.config.settings import Settings
from frontend.errors import BadGateway
from frontend.observe import otlp
from scripts.local_triton.checks import free_port
from tests.collector import Collector, Span, collecting
from tests.conftest import ROOT, Client, running
from tests.eventually import until
from tests.fakes import FakeTriton
from tests.http.calls import EMBED
from tests.samples import Change
from tests.speech import encode, say, transcribe

_TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
_PARENT = "00f067aa0ba902b7"
_SECRET = "Qx7secretSpoken"


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    with collecting() as collector:
        yield collector


@pytest.fixture
def settings(settings: Settings, collector: Collector) -> Settings:
    return dataclasses.replace(settings, otlp_endpoint=collector.grpc)


@pytest.fixture
async def client(settings: Settings, triton: FakeTriton, collector: Collector) -> AsyncIterator[Client]:
    collector.spans.clear()
    async with running(settings, triton) as connected:
        yield connected


async def _spans(client: Client, collector: Collector) -> list[Span]:
    """All of them, after the application has ended."""
    await client.close()
    return collector.spans


async def test_a_transcription_is_one_trace_with_its_parts(client: Client, collector: Collector) -> None:
    answer = await transcribe(client, encode(say("one two three"), "wav"))
    spans = await _spans(client, collector)
    (request,) = [span for span in spans if not span.parent]
    parts = [span for span in spans if span.parent == request.id]
    assert request.name == "POST /v1/audio/transcriptions"
    counts = Counter(span.name for span in parts)
    assert (counts["answer"], counts["decode"], counts["triton"]) == (1, 1, 1)
    # Each waits in a queue.
    assert counts["queue"] == counts["decode"] + counts["triton"] + counts["threads"]
    assert {span.trace for span in spans} == {request.trace}
    assert all(request.start <= span.start <= span.end <= request.end for span in parts)
    assert request.attributes["quartet.request_id"] == answer.headers["X-Request-Id"]
    assert (request.attributes["quartet.status"], request.attributes["quartet.model"]) == (200, "stt-1")
    (call,) = [span for span in parts if span.name == "triton"]
    assert call.attributes["quartet.model"] == "whisper_turbo"


async def test_a_request_belongs_to_the_trace_of_its_caller(client: Client, collector: Collector) -> None:
    headers = {"traceparent": f"00-{_TRACE}-{_PARENT}-01"}
    await client.post(EMBED, json={"input": "a"}, headers=headers)
    (request,) = [span for span in await _spans(client, collector) if span.name == f"POST {EMBED}"]
    assert (request.trace, request.parent) == (_TRACE, _PARENT)


@pytest.mark.parametrize("given", ["", "nonsense", f"00-{'0' * 32}-{_PARENT}-01", f"00-{_TRACE}-{_PARENT}-01" * 20])
async def test_an_invalid_context_begins_a_new_trace(client: Client, collector: Collector, given: str) -> None:
    assert (await client.get("/v1/models", headers={"traceparent": given})).status == 200
    (request,) = [span for span in await _spans(client, collector) if span.name == "GET /v1/models"]
    assert (request.trace != _TRACE, request.parent) == (True, "")


async def test_a_trace_that_its_caller_does_not_sample_is_not_sent(client: Client, collector: Collector) -> None:
    await client.get("/v1/models", headers={"traceparent": f"00-{_TRACE}-{_PARENT}-00"})
    assert await _spans(client, collector) == []


@pytest.mark.parametrize("flag", ["00", "01"])
@pytest.mark.settings(trace_ratio=0.0)
async def test_the_flag_of_a_caller_does_not_raise_the_ratio(client: Client, collector: Collector, flag: str) -> None:
    await client.get("/v1/models", headers={"traceparent": f"00-{_TRACE}-{_PARENT}-{flag}"})
    assert await _spans(client, collector) == []


async def test_a_failure_is_marked_and_no_span_has_text_of_the_caller(
    client: Client, triton: FakeTriton, collector: Collector
) -> None:
    triton.failure = BadGateway("no")
    assert (await client.post(EMBED, json={"input": _SECRET})).status == 502
    await client.post(EMBED, json={_SECRET: _SECRET})
    await client.get(f"/{_SECRET}?{_SECRET}=1")
    spans = await _spans(client, collector)
    assert {span.name for span in spans if span.failed} == {f"POST {EMBED}", "triton"}
    assert _SECRET not in str(spans)


async def test_a_collector_that_is_away_or_hangs_delays_no_request_and_no_end(
    settings: Settings, triton: FakeTriton, collector: Collector
) -> None:
    lost = Change("quartet_spans_lost_total")
    collector.accepting.clear()
    for endpoint in (collector.grpc, f"http://127.0.0.1:{free_port()}"):
        async with running(dataclasses.replace(settings, otlp_endpoint=endpoint), triton) as client:
            answers = await asyncio.gather(*(client.get("/v1/models") for _ in range(50)))
            assert {answer.status for answer in answers} == {200}
            ended = time.monotonic()
        # What is under way, and a moment more.
        assert time.monotonic() - ended < 3 * (otlp._SEND_SECONDS + otlp._LAST_SECONDS)
    collector.accepting.set()
    # Each request and its answer.
    assert lost.by == 200


async def test_spans_beyond_the_bound_are_dropped(settings: Settings, collector: Collector) -> None:
    collector.spans.clear()
    collector.accepting.clear()
    tracer = otlp.OtlpTracer(collector.grpc, 1.0)
    for _ in range(3 * otlp._MOST_SPANS):
        with tracer.span("one"):
            pass
    collector.accepting.set()
    await until(lambda: len(collector.spans) >= otlp._MOST_SPANS, 30)
    await asyncio.to_thread(tracer.close)
    # Those that wait, and those that were being sent: some of them twice.
    assert len(collector.spans) < 2 * otlp._MOST_SPANS


def test_without_an_endpoint_no_telemetry_library_is_imported() -> None:
    code = (
        "import asyncio, sys; from contextlib import AsyncExitStack; from frontend import app, app_keys, parts; "
        "from frontend.config.settings import Settings; "
        "from frontend.observe.tracing import OFF; made = app.create_app(Settings()); "
        "asyncio.run(parts._tracing(made, AsyncExitStack())); assert made[app_keys.TRACER] is OFF; "
        "sys.exit(bool({'opentelemetry.sdk.trace', 'opentelemetry.exporter'} & sys.modules.keys()))"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
