"""A request is freed when it ends: nothing of it waits for garbage collection, which would hold the event loop."""

import asyncio
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from aiohttp import FormData

from tests.conftest import Client
from tests.eventually import until
from tests.fakes import FakeTriton
from tests.garbage import uncollected
from tests.http.calls import EMBED
from tests.speech import encode, say

_REQUESTS = 3


def _file(data: bytes) -> FormData:
    form = FormData({"model": "stt-1"})
    form.add_field("file", data, filename="a.wav")
    return form


# The path, what is sent, and the status.
CASES: dict[str, tuple[str, Callable[[], dict[str, Any]], int]] = {
    "embeddings": (EMBED, lambda: {"json": {"input": "hello"}}, 200),
    "several calls": (EMBED, lambda: {"json": {"input": ["hello " * 3000] * 4}}, 200),
    "rerank": ("/v1/rerank", lambda: {"json": {"query": "a", "documents": ["b", "c"]}}, 200),
    "speech": ("/v1/audio/speech", lambda: {"json": {"voice": "amy", "input": "Hello you."}}, 200),
    "a recording": ("/v1/audio/transcriptions", lambda: {"data": _file(_spoken())}, 200),
    "no recording": ("/v1/audio/transcriptions", lambda: {"data": _file(b"abcdefgh" * 100)}, 415),
    "a damaged recording": ("/v1/audio/transcriptions", lambda: {"data": _file(_spoken()[:60])}, 400),
    "a wrong value": (EMBED, lambda: {"json": {"input": 1}}, 400),
}


def _spoken() -> bytes:
    return encode(say("Good morning everybody.").astype(np.float32), "wav")


async def _ask(client: Client, case: str) -> None:
    path, body, status = CASES[case]
    async with client.post(path, **body()) as response:
        assert response.status == status, await response.text()
        await response.read()


@pytest.mark.parametrize("case", CASES)
async def test_an_answered_request_leaves_nothing_to_garbage_collection(client: Client, case: str) -> None:
    await _ask(client, case)
    found: list[object] = []
    with uncollected(found):
        for _ in range(_REQUESTS):
            await _ask(client, case)
        await asyncio.sleep(0.05)
    assert found == []


@pytest.mark.parametrize("case", ["embeddings", "several calls", "rerank", "speech", "a recording"])
async def test_a_request_whose_caller_leaves_leaves_nothing_to_garbage_collection(
    client: Client, triton: FakeTriton, case: str
) -> None:
    triton.wait = asyncio.Event().wait

    async def leave() -> None:
        begun = len(triton.calls)
        asked = asyncio.create_task(_ask(client, case))
        await until(lambda: len(triton.calls) > begun)
        asked.cancel()
        await asyncio.wait([asked])

    await leave()
    found: list[object] = []
    with uncollected(found):
        for _ in range(_REQUESTS):
            await leave()
        await asyncio.sleep(0.3)
    assert found == []
