"""The time that the frontend adds to a call: python -m lab.probes.overhead

It sends one short embedding over gRPC to Triton and over HTTP to the frontend, in turn, so that noise of the
machine disturbs both equally.
"""

import statistics
import time

import aiohttp
import uvloop

from frontend.catalogue.models import MODELS
from frontend.operations.embeddings.pipeline import OUTPUT
from frontend.text.tokens import TextTokenizer, packed_inputs
from frontend.tritons.triton import Triton
from scripts.benchmark.common.target import Target, own_product
from scripts.run.state import REPOSITORY

_TEXT = "a cat on a mat"
_MODEL = MODELS["embed-m3"].triton_model
_CALLS, _WARM_UP = 1000, 100


async def added(target: Target) -> tuple[float, float]:
    """Median milliseconds of the gRPC call and of the HTTP call."""
    ids = TextTokenizer(REPOSITORY / _MODEL / "1").texts([_TEXT])
    triton = Triton(target.grpc)
    grpc_ms: list[float] = []
    http_ms: list[float] = []
    async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {target.key}"}) as session:
        for _ in range(_CALLS + _WARM_UP):
            started = time.perf_counter()
            await triton.infer(_MODEL, packed_inputs(ids), [OUTPUT], 10.0)
            between = time.perf_counter()
            async with session.post(f"{target.address}/embeddings", json={"input": _TEXT}) as response:
                await response.read()
            grpc_ms.append(1000 * (between - started))
            http_ms.append(1000 * (time.perf_counter() - between))
    await triton.close()
    return statistics.median(grpc_ms[_WARM_UP:]), statistics.median(http_ms[_WARM_UP:])


if __name__ == "__main__":
    with own_product() as started:
        grpc, http = uvloop.run(added(started))
    print(f"gRPC {grpc:.2f} ms, HTTP {http:.2f} ms, the frontend adds {http - grpc:.2f} ms (medians)")
