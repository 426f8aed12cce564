"""What the frontend adds to a call, and how many requests it answers where no model is needed.

python -m scripts.benchmark.probes.overhead

Calls alternate, so that a noisy machine disturbs both alike: one short embedding over gRPC straight to Triton, and the
same over HTTP through the frontend.
"""

import asyncio
import statistics
import sys
import time
from urllib.parse import urlsplit

import aiohttp
import uvloop

from frontend.catalogue.models import MODELS
from frontend.dispatch.triton import Triton
from frontend.operations.embeddings.pipeline import OUTPUT
from frontend.text.packed import packed_inputs
from frontend.text.tokens import TextTokenizer
from scripts.benchmark.common.summary import Spread
from scripts.benchmark.common.target import Target, own_product
from scripts.run.state import REPOSITORY

_TEXT = "a cat on a mat"
_MODEL = MODELS["embed-m3"].triton_model
_CALLS, _WARM_UP = 1000, 100
_DEADLINE = 10.0
_CONNECTIONS, _SECONDS, _RUNS = 16, 3.0, 5


async def added(target: Target) -> tuple[float, float]:
    """Median milliseconds of a bare gRPC call, and of the HTTP call."""
    ids = TextTokenizer(REPOSITORY / _MODEL / "1").texts([_TEXT])
    triton = Triton(target.grpc)
    grpc_ms: list[float] = []
    http_ms: list[float] = []
    async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {target.key}"}) as session:
        for _ in range(_CALLS + _WARM_UP):
            started = time.perf_counter()
            await triton.infer(_MODEL, packed_inputs(ids), [OUTPUT], _DEADLINE)
            between = time.perf_counter()
            async with session.post(f"{target.address}/embeddings", json={"input": _TEXT}) as response:
                await response.read()
            grpc_ms.append(1000 * (between - started))
            http_ms.append(1000 * (time.perf_counter() - between))
    await triton.close()
    return statistics.median(grpc_ms[_WARM_UP:]), statistics.median(http_ms[_WARM_UP:])


async def requests_a_second(target: Target) -> float:
    """``GET /v1/models`` over plain sockets, since a client library would be the slower side."""
    parts = urlsplit(target.address)
    request = f"GET {parts.path}/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {target.key}\r\n\r\n".encode()
    end = time.perf_counter() + _SECONDS

    async def ask() -> int:
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        answered = 0
        while time.perf_counter() < end:
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
            await reader.readexactly(int(length))
            answered += 1
        writer.close()
        return answered

    return sum(await asyncio.gather(*(ask() for _ in range(_CONNECTIONS)))) / _SECONDS


def main() -> int:
    with own_product() as target:
        grpc_ms, http_ms = uvloop.run(added(target))
        print(f"gRPC {grpc_ms:.2f} ms, HTTP {http_ms:.2f} ms, the frontend adds {http_ms - grpc_ms:.2f} ms (medians)")
        rates = Spread.of(uvloop.run(requests_a_second(target)) for _ in range(_RUNS))
        print(f"requests a second without a model: {rates:.0f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
