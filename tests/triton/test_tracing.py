"""One trace from the caller over the frontend into Triton."""

import dataclasses
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from functools import partial

import pytest
from aiohttp.test_utils import TestClient

from frontend.app import create_app
from frontend.config.settings import Settings
from scripts.local_triton.server import LocalTriton
from scripts.run.state import REPOSITORY
from tests.collector import Collector, collecting
from tests.conftest import KEY, Client, ProductServer
from tests.eventually import until

pytestmark = pytest.mark.triton

_CALLER = "00f067aa0ba902b7"
_KEPT = [f"{number}bf92f3577b34da6a3ce929d0e0e4736" for number in range(4)]


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    with collecting() as collector:
        yield collector


@pytest.fixture(scope="module")
def traced(collector: Collector, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalTriton]:
    triton = LocalTriton(REPOSITORY, tmp_path_factory.mktemp("traced"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.http.removesuffix("/v1/traces"))
        triton.start()
    try:
        triton.load(["m3_embedder"])
        yield triton
    finally:
        triton.stop(at_once=True)


@pytest.fixture
async def client(settings: Settings, collector: Collector, traced: LocalTriton) -> AsyncIterator[Client]:
    address = f"127.0.0.1:{traced.ports.grpc}"
    settings = dataclasses.replace(
        settings, triton=address, triton_secret=traced.secret, otlp_endpoint=collector.grpc, models="embed-m3"
    )
    server = ProductServer(create_app(settings), settings)
    async with TestClient(server, headers={"Authorization": f"Bearer {KEY}"}) as connected:
        yield connected


async def _ask(client: Client, trace: str, flag: str) -> None:
    headers = {"traceparent": f"00-{trace}-{_CALLER}-{flag}"}
    assert (await client.post("/v1/embeddings", json={"input": "a"}, headers=headers)).status == 200


async def _kept(client: Client, collector: Collector) -> list[str]:
    """Traces that were asked for until one, the last, came from Triton too, whose exporter loses one in some thirty on
    a busy machine.
    """
    for count, trace in enumerate(_KEPT, 1):
        await _ask(client, trace, "01")
        with suppress(TimeoutError):
            await until(partial(_has_come, collector, trace), 15)
            return _KEPT[:count]
    raise AssertionError("no trace came from Triton")


def _has_come(collector: Collector, trace: str) -> bool:
    return "compute" in collector.of(trace)


async def test_a_trace_goes_from_http_into_the_model(client: Client, collector: Collector) -> None:
    trace = (await _kept(client, collector))[-1]
    names = {"POST /v1/embeddings", "queue", "triton", "answer", "InferRequest", "m3_embedder", "compute"}
    await until(lambda: collector.of(trace).keys() >= names, 20)
    assert collector.of(trace).keys() == names
    spans = {name: found[0] for name, found in collector.of(trace).items()}
    request = spans["POST /v1/embeddings"]
    parents = {
        "POST /v1/embeddings": _CALLER,
        **dict.fromkeys(("queue", "triton", "answer"), request.id),
        "InferRequest": spans["triton"].id,
        "m3_embedder": spans["InferRequest"].id,
        "compute": spans["m3_embedder"].id,
    }
    assert {name: span.parent for name, span in spans.items()} == parents
    of_triton = {"InferRequest", "m3_embedder", "compute"}
    assert {name: span.service for name, span in spans.items()} == {
        name: "triton-inference-server" if name in of_triton else "quartet" for name in names
    }
    order = [spans[name].start for name in ("POST /v1/embeddings", "queue", "triton", "InferRequest", "compute")]
    assert order == sorted(order)
    # Triton ends its span after it sends the answer, so either side may be the first.
    assert spans["triton"].end <= spans["answer"].start


async def test_triton_traces_no_probe_and_no_call_that_is_not_sampled(client: Client, collector: Collector) -> None:
    collector.spans.clear()
    await _ask(client, "5bf92f3577b34da6a3ce929d0e0e4736", "00")
    kept = await _kept(client, collector)
    assert {span.trace for span in collector.spans} == set(kept)
