"""A text model inside a real Triton: what callers do to it harms nobody else."""

import asyncio
import time

import numpy as np
import pytest
import tritonclient.grpc.aio as grpc_client
from numpy.typing import NDArray

from scripts.run.stack import Stack

pytestmark = pytest.mark.triton

_MODEL = "m3_embedder"
# Seconds for any processor, so that who cancels it half-way is noticed.
_LONGEST = 8192


def _tensor(name: str, values: NDArray[np.int32]) -> grpc_client.InferInput:
    tensor = grpc_client.InferInput(name, values.shape, "INT32")
    tensor.set_data_from_numpy(values)
    return tensor


def _texts(lengths: list[int]) -> list[grpc_client.InferInput]:
    ids = np.arange(1, 1 + sum(lengths), dtype=np.int32)[None]
    return [_tensor("input_ids", ids), _tensor("lengths", np.array([lengths], np.int32))]


async def _row(client: grpc_client.InferenceServerClient) -> bytes:
    result = await client.infer(_MODEL, _texts([3]))
    return bytes(result.as_numpy("embedding").tobytes())


async def test_calls_that_are_dropped_together_do_not_kill_it(stack: Stack) -> None:
    async with grpc_client.InferenceServerClient(f"127.0.0.1:{stack.triton.ports.grpc}") as client:
        calls = [asyncio.ensure_future(client.infer(_MODEL, _texts([200] * 4))) for _ in range(118)]
        await asyncio.sleep(0.7)
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        # The crash came seconds later.
        for _ in range(10):
            await asyncio.sleep(0.5)
            await client.infer(_MODEL, _texts([3]))
        assert stack.triton.alive()


async def test_texts_that_are_dropped_do_not_show_in_the_next(stack: Stack) -> None:
    async with grpc_client.InferenceServerClient(f"127.0.0.1:{stack.triton.ports.grpc}") as client:
        expected = await _row(client)
        for lengths in ([_LONGEST], [200, 190, 180], [3000, 9]):
            calls = [asyncio.ensure_future(client.infer(_MODEL, _texts(lengths))) for _ in range(4)]
            await asyncio.sleep(0.2)
            for call in calls:
                call.cancel()
            await asyncio.gather(*calls, return_exceptions=True)
            assert [await _row(client) for _ in range(4)] == [expected] * 4


async def test_a_long_text_whose_caller_has_gone_is_not_computed_to_its_end(stack: Stack) -> None:
    async with grpc_client.InferenceServerClient(f"127.0.0.1:{stack.triton.ports.grpc}") as client:
        started = time.monotonic()
        await client.infer(_MODEL, _texts([_LONGEST]))
        whole = time.monotonic() - started
        # One for each instance.
        calls = [asyncio.ensure_future(client.infer(_MODEL, _texts([_LONGEST]))) for _ in range(2)]
        await asyncio.sleep(0.5)
        for call in calls:
            call.cancel()
        started = time.monotonic()
        await client.infer(_MODEL, _texts([3]))
        assert time.monotonic() - started < 0.7 * whole
