"""Bulk work over the product itself."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from client.bulk.job import Job
from client.bulk.pace import Pace
from client.bulk.progress import Tally
from client.bulk.work import Worker
from frontend.app_keys import MEMORY_BUDGET
from frontend.config.settings import Settings
from tests.charges import other_key
from tests.conftest import KEY, Client, bearer
from tests.eventually import until
from tests.fakes import FakeTriton


async def _run(client: Client, operation: str, source: Path, output: Path, options: Mapping[str, str]) -> Tally:
    job = Job(operation, source, output, options, str(client.make_url("/v1")), KEY, at_once=4, patience=10)
    items, tally = job.source(), Tally()
    outcomes = job.outcomes(items.count)
    await Worker(job, outcomes, tally, Pace(4), "token").run(items.items())
    outcomes.close()
    return tally


async def test_texts_become_speech_and_recordings_text(client: Client, tmp_path: Path) -> None:
    texts = tmp_path / "texts"
    texts.mkdir()
    for number in range(3):
        (texts / f"{number}.txt").write_text("Good morning.")
    options = {"voice": "amy", "response_format": "mp3"}
    spoken = await _run(client, "speak", texts, tmp_path / "audio", options)
    assert (spoken.done, spoken.work) == (3, 39.0)
    heard = await _run(client, "transcribe", tmp_path / "audio", tmp_path / "heard.parquet", {"timestamps": "word"})
    assert (heard.done, heard.failed) == (3, 0)
    assert pq.read_table(tmp_path / "heard.parquet")["id"].to_pylist() == ["0.mp3", "1.mp3", "2.mp3"]


@pytest.mark.settings(held_bytes=1_200_000, queue_hold_seconds=0.01)
async def test_several_bulk_keys_hold_no_more_memory_than_one_key_may(
    client: Client, settings: Settings, triton: FakeTriton
) -> None:
    bulk, released = [await other_key(settings, tier="bulk") for _ in range(3)], asyncio.Event()
    body = {"input": ["word " * 2_000] * 5}

    async def ask(key: str) -> int:
        async with client.post("/v1/embeddings", json=body, headers=bearer(key)) as answer:
            return answer.status

    triton.wait = released.wait
    waiting = [asyncio.create_task(ask(key)) for key in bulk[:2]]
    await until(lambda: client.app[MEMORY_BUDGET]._total > 400_000)
    async with asyncio.timeout(10):
        assert await ask(bulk[2]) == 502
    waiting.append(asyncio.create_task(ask(KEY)))
    await until(lambda: client.app[MEMORY_BUDGET]._total > 600_000)
    released.set()
    assert await asyncio.gather(*waiting) == [200, 200, 200]
