"""What callers notice of processes that die and of threads that are all busy."""

import asyncio
import os
import signal
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import numpy as np
import pytest

from frontend.app_keys import AUDIO, DISPATCHER, TEXT, THREADS
from frontend.dispatch.context import RequestContext
from frontend.http.json import INLINE_BYTES
from tests.conftest import Client
from tests.deaths import die
from tests.eventually import until
from tests.speech import encode, transcribe

_TONE = encode(np.sin(np.arange(16_000, dtype=np.float32) / 10), "wav")
_Asks = Callable[[Client], Awaitable[Any]]


async def _audio(client: Client) -> Any:
    return await transcribe(client, _TONE)


async def _speech(client: Client) -> Any:
    return await client.post("/v1/audio/speech", json={"input": "Hello.", "voice": "amy"})


async def _json(client: Client) -> Any:
    return await client.post("/v1/embeddings", json={"input": "word " * INLINE_BYTES})


pytestmark = pytest.mark.settings(audio_workers=1, text_workers=1, threads=1, queue_per_key=1)


@pytest.mark.parametrize(
    ("asks", "function"),
    [
        (_audio, "frontend.operations.transcription.pipeline.prepare"),
        (_speech, "frontend.operations.speech.pipeline.phonemize"),
        (_json, "frontend.http.json.convert"),
    ],
)
async def test_a_request_that_kills_two_processes_is_502_with_retry_after(
    client: Client, monkeypatch: pytest.MonkeyPatch, asks: _Asks, function: str
) -> None:
    monkeypatch.setattr(function, die)
    response = await asks(client)
    assert (response.status, response.headers["Retry-After"]) == (502, "1")


@pytest.mark.parametrize("asks", [_audio, _speech, _json])
async def test_a_process_that_is_stopped_is_502_with_retry_after(
    client: Client, monkeypatch: pytest.MonkeyPatch, asks: _Asks
) -> None:
    assert (await asks(client)).status == 200
    for key in (TEXT, AUDIO):
        monkeypatch.setattr(client.app[key]._workers, "_seconds", 1.0)
        pool: Any = client.app[key]._workers
        for process in pool._free._queue:
            os.kill(process._process.pid, signal.SIGSTOP)
    response = await asks(client)
    assert (response.status, response.headers["Retry-After"]) == (502, "1")
    assert (await asks(client)).status == 200


@pytest.fixture
def dead(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes for text die as they start."""
    monkeypatch.setattr("frontend.parts.load_phonemizer", die)
    # The end of the frontend waits for this too.
    monkeypatch.setattr("frontend.processes.offload._START_SECONDS", 1.0)


async def test_a_frontend_whose_processes_are_dead_is_not_ready(dead: None, client: Client) -> None:
    asked = asyncio.ensure_future(_speech(client))
    await until(lambda: not client.app[TEXT].works)
    response = await client.get("/health/ready")
    reason = "the worker processes for audio or text have died and are restarting"
    assert (response.status, (await response.json())["reason"]) == (503, reason)
    asked.cancel()


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/embeddings", {"input": "word " * 1000}),
        ("/v1/rerank", {"query": "word", "documents": ["word " * 1000]}),
        ("/v1/audio/speech", {"input": "Hello.", "voice": "amy", "response_format": "mp3"}),
    ],
)
async def test_a_request_is_refused_while_the_queue_of_the_threads_is_full(
    client: Client, path: str, body: dict[str, Any]
) -> None:
    free = threading.Event()
    context = RequestContext("another", 3, None, asyncio.get_running_loop().time() + 60)
    taken = asyncio.create_task(client.app[THREADS].run(context, free.wait))
    first: Awaitable[Any] = asyncio.ensure_future(client.post(path, json=body))
    try:
        await until(lambda: client.app[DISPATCHER].queue("threads").demand == 2)
        assert (await client.post(path, json=body)).status == 502
    finally:
        free.set()
    assert (await first).status == 200
    await taken
