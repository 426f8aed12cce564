"""Tokenizing and encoding wait in a queue by tier and key, which can be full."""

import asyncio
import dataclasses
import threading
from collections.abc import Awaitable
from typing import Any

import pytest

from frontend.app_keys import DISPATCHER, THREADS
from frontend.config.settings import Settings
from frontend.dispatch.context import RequestContext
from tests.conftest import Client, running
from tests.fakes import FakeTriton


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return dataclasses.replace(settings, threads=1, queue_per_key=1)


async def _waits(client: Client) -> None:
    """Until a call waits for the one thread, which another has."""
    for _ in range(1000):
        if client.app[DISPATCHER].demand("threads") == 2:
            return
        await asyncio.sleep(0.01)
    raise AssertionError


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/embeddings", {"input": "word " * 1000}),
        ("/v1/rerank", {"query": "word", "documents": ["word " * 1000]}),
        ("/v1/audio/speech", {"input": "Hello.", "voice": "amy", "response_format": "mp3"}),
    ],
)
async def test_who_comes_when_the_queue_of_the_threads_is_full_is_refused(
    settings: Settings, triton: FakeTriton, path: str, body: dict[str, Any]
) -> None:
    free = threading.Event()
    async with running(settings, triton) as client:
        context = RequestContext("another", 3, None, asyncio.get_running_loop().time() + 60)
        taken = asyncio.create_task(client.app[THREADS].run(context, free.wait))
        first: Awaitable[Any] = asyncio.ensure_future(client.post(path, json=body))
        try:
            await _waits(client)
            assert (await client.post(path, json=body)).status == 502
        finally:
            free.set()
        assert (await first).status == 200
        await taken
