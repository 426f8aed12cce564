"""Bulk work over the product itself."""

from collections.abc import Mapping
from pathlib import Path

import pyarrow.parquet as pq

from frontend.bulk.client import Client as BulkClient
from frontend.bulk.client import Server
from frontend.bulk.local import output_of, source_of
from frontend.bulk.operations import OPERATIONS
from frontend.bulk.pace import Pace
from frontend.bulk.progress import Tally
from frontend.bulk.runs import Job
from frontend.bulk.work import Worker
from tests.conftest import KEY, Client


async def _run(client: Client, operation: str, source: Path, output: Path, options: Mapping[str, str]) -> Tally:
    job = Job(operation, source, output, "", options)
    its, tally = OPERATIONS[operation](options), Tally()
    items = source_of(job, its)
    outcomes = output_of(job, its, items.count)
    async with BulkClient(Server(str(client.make_url("/v1")), KEY, 10), its, Pace(4), "token") as asking:
        await Worker(asking, its, outcomes, tally).run(items.items(), 4)
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
