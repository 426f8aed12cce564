"""What tracing adds to a short request: python -m scripts.benchmark.probes.tracing

Two frontends over one Triton, one without and one with a collector, are asked in turns for one short embedding. What
the calls cost that stand in a request's way where tracing is off is too little to be seen there: they are timed alone.
"""

import asyncio
import contextlib
import os
import statistics
import subprocess
import sys
import time
import timeit
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import aiohttp
import grpc
import uvloop
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as messages
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc as service

from frontend.config.reading import CONFIG_FILE, PREFIX
from frontend.observe.tracing import OFF
from scripts.benchmark.common.target import Target, own_product
from scripts.local_triton.checks import free_port
from scripts.run.state import REPOSITORY

_BODY = {"input": "a cat on a mat"}
_CALLS, _WARM_UP = 1000, 100
_START_SECONDS = 60


class Collector(service.TraceServiceServicer):
    """Counts the spans that come."""

    spans = 0

    def Export(self, request: Any, context: Any) -> Any:  # noqa: N802 - gRPC's name
        self.spans += sum(len(scope.spans) for resource in request.resource_spans for scope in resource.scope_spans)
        return messages.ExportTraceServiceResponse()


@contextlib.contextmanager
def _frontend(target: Target, own: Mapping[str, str]) -> Iterator[str]:
    """The address of one over the target's Triton and keys."""
    port, limits = free_port(), Path(target.database.removeprefix("sqlite:///")).with_name("quartet.toml")
    settings = {"PORT": str(port), "TRITON": target.grpc, "DATABASE": target.database, "LOG_LEVEL": "WARNING"}
    settings |= {"MODEL_REPOSITORY": str(REPOSITORY), "MODELS": "embed-m3", **own}
    environ = {**os.environ, CONFIG_FILE: str(limits), **{PREFIX + name: value for name, value in settings.items()}}
    with subprocess.Popen([sys.executable, "-m", "frontend", "serve"], env=environ) as process:
        try:
            yield f"http://127.0.0.1:{port}/v1/embeddings"
        finally:
            process.terminate()


async def _measured(target: Target, addresses: list[str]) -> list[list[float]]:
    """Milliseconds of each call of each address."""
    took: list[list[float]] = [[] for _ in addresses]
    async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {target.key}"}) as session:
        deadline = time.monotonic() + _START_SECONDS
        for address in addresses:
            while not await _answers(session, address):
                assert time.monotonic() < deadline
                await asyncio.sleep(0.2)
        for number in range(_CALLS + _WARM_UP):
            # Neither is always the one that comes second.
            for which in sorted(range(len(addresses)), reverse=bool(number % 2)):
                began = time.perf_counter()
                async with session.post(addresses[which], json=_BODY) as response:
                    await response.read()
                    assert response.status == 200
                took[which].append(1000 * (time.perf_counter() - began))
    return [each[_WARM_UP:] for each in took]


async def _answers(session: aiohttp.ClientSession, address: str) -> bool:
    try:
        async with session.post(address, json=_BODY) as response:
            return response.status == 200
    except aiohttp.ClientError:
        return False


def _off_milliseconds() -> float:
    """What a request with one call to Triton asks of a tracer that makes no spans."""

    def request() -> None:
        with OFF.request("POST /v1/embeddings", ""):
            with OFF.span("queue"):
                pass
            with OFF.call("triton", {"model": "m3_embedder", "pool": "a"}):
                OFF.outgoing()
            with OFF.span("answer"):
                pass
            OFF.note({}, failed=False)

    return 1000 * min(timeit.repeat(request, number=10_000, repeat=5)) / 10_000


def main() -> None:
    collector, server = Collector(), grpc.server(ThreadPoolExecutor(1))
    service.add_TraceServiceServicer_to_server(collector, server)
    endpoint = f"http://127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    with own_product() as target, contextlib.ExitStack() as running:
        addresses = [running.enter_context(_frontend(target, own)) for own in ({}, {"OTLP_ENDPOINT": endpoint})]
        off, on = uvloop.run(_measured(target, addresses))
    server.stop(None)
    without, added = statistics.median(off), statistics.median(b - a for a, b in zip(off, on, strict=True))
    print(f"a request takes {without:.2f} ms (median of {_CALLS}); {collector.spans} spans came")
    print(f"off: {_off_milliseconds():.4f} ms, {100 * _off_milliseconds() / without:.3f} %")
    print(f"on: {added:.3f} ms (median difference of pairs), {100 * added / without:.2f} %")


if __name__ == "__main__":
    main()
