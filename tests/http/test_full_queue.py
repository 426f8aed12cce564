"""Requests whose model has a full queue, or one that takes all their time, are refused before any work on them."""

import asyncio
from typing import Any

import numpy as np
import pytest

from frontend.app_keys import DISPATCHER, SPEECH
from frontend.dispatch.admission import ModelCalls
from frontend.dispatch.worker_queue import WorkerQueue
from tests.conftest import Client
from tests.eventually import until
from tests.fakes import FakeTriton
from tests.speech import encode, say, transcribe

pytestmark = pytest.mark.settings(concurrency=1, queue_per_key=1)
_LONG = "word " * 500


async def _ask(client: Client, operation: str) -> Any:
    if operation == "transcriptions":
        return await transcribe(client, encode(say("Good morning everybody.").astype(np.float32), "wav"))
    bodies: dict[str, dict[str, Any]] = {
        "embeddings": {"input": _LONG},
        "rerank": {"query": "who", "documents": [_LONG]},
        "audio/speech": {"input": "Hello.", "voice": "amy"},
    }
    return await client.post(f"/v1/{operation}", json=bodies[operation])


def _model(client: Client, operation: str) -> str:
    """The model in Triton; that of a voice depends on what is exported."""
    if operation == "audio/speech":
        return client.app[SPEECH]._voices["amy"].model
    return {"embeddings": "m3_embedder", "rerank": "m3_reranker", "transcriptions": "whisper_turbo"}[operation]


async def _answered(client: Client, operation: str) -> None:
    """Ask until there is an answer: processes may take long to start on a busy machine."""
    async with asyncio.timeout(120):
        while (await _ask(client, operation)).status != 200:  # noqa: ASYNC110 - each turn asks
            await asyncio.sleep(1)


@pytest.mark.parametrize("operation", ["embeddings", "rerank", "audio/speech", "transcriptions"])
async def test_no_work_is_done_for_a_request_that_finds_the_queue_full(
    client: Client, triton: FakeTriton, monkeypatch: pytest.MonkeyPatch, operation: str
) -> None:
    await _answered(client, operation)
    free = asyncio.Event()
    triton.wait = free.wait
    queue = client.app[DISPATCHER].queue(_model(client, operation))
    first = [asyncio.ensure_future(_ask(client, operation))]
    await until(lambda: queue.demand == 1)
    first.append(asyncio.ensure_future(_ask(client, operation)))
    await until(lambda: queue.demand == 2)
    with monkeypatch.context() as patched:
        # A request that got this far would be answered with 500.
        for name in ("run", "run_with"):
            patched.setattr(WorkerQueue, name, None)
        refused = await _ask(client, operation)
    assert refused.status == 502
    assert int(refused.headers["Retry-After"]) >= 1
    free.set()
    assert [answer.status for answer in await asyncio.gather(*first)] == [200, 200]


@pytest.mark.parametrize("operation", ["embeddings", "rerank", "audio/speech"])
@pytest.mark.settings(request_seconds=100)
async def test_no_work_is_done_for_a_request_whose_wait_takes_all_its_time(
    client: Client, monkeypatch: pytest.MonkeyPatch, operation: str
) -> None:
    await _answered(client, operation)
    monkeypatch.setattr(ModelCalls, "expected_wait", lambda *_: 90.0)
    assert (await _ask(client, operation)).status == 200
    monkeypatch.setattr(ModelCalls, "expected_wait", lambda *_: 96.0)
    for name in ("run", "run_with"):
        monkeypatch.setattr(WorkerQueue, name, None)
    refused = await _ask(client, operation)
    assert refused.status == 502
    assert refused.headers["Retry-After"] == "96"
