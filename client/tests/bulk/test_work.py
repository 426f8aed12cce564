"""How requests are made up and sent, and what that takes."""

import asyncio
import json
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from client.api import Api
from client.bulk.inputs import INDEXED, Field, Item, Lines
from client.bulk.job import Job
from client.bulk.operations import Embed, Outcome, batches
from client.bulk.outputs import JsonLines, LineFile
from client.bulk.pace import Pace, StoppedError, pause
from client.bulk.progress import Progress, Tally
from client.bulk.work import Worker
from client.tests.bulk.api import Api as Server
from client.tests.bulk.api import Refusal
from client.tests.bulk.conftest import job


def test_requests_are_the_same_wherever_a_run_begins() -> None:
    items = [Item(number, str(number), "x" * (number * 997 % 20_000)) for number in range(500)]
    whole = [[item.number for item in batch] for batch in batches(Embed({}), iter(items))]
    later = [[item.number for item in batch] for batch in batches(Embed({}), iter(items[320:]))]
    assert [batch for batch in whole if batch[0] >= 320] == later
    assert sum(whole, []) == list(range(500))
    assert all(sum(len(items[n].text or "") for n in batch) <= 200_000 for batch in whole)


@pytest.mark.parametrize("first", [0, 5, INDEXED, 2 * INDEXED + 3])
def test_lines_are_read_from_any_place(tmp_path: Path, first: int) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text("".join(json.dumps({"text": str(number)}) + "\n" for number in range(3 * INDEXED)))
    source = Lines(path, Field("text", is_file=False))
    assert [item.text for item in source.items(first, 4)] == [str(number) for number in range(first, first + 4)]


class _Answering(Worker):
    """Answers by itself."""

    async def ask(self, api: Api, items: Sequence[Item]) -> list[Outcome]:
        await asyncio.sleep(0)
        return [({"embedding": [0.0]}, 1.0) for _ in items]


async def test_a_long_input_takes_no_more_memory_than_a_short_one(tmp_path: Path) -> None:
    async def peak(count: int) -> int:
        path, output = tmp_path / f"{count}.jsonl", tmp_path / f"{count}.out.jsonl"
        path.write_text('{"text": "word word word"}\n' * count)
        nowhere = Job("embed", path, output, {}, "http://x/v1", "qk", at_once=4)
        tracemalloc.start()
        lines = JsonLines(output, count, LineFile(tmp_path / f"{count}.failed", count))
        await _Answering(nowhere, lines, Tally(), Pace(4), "run").run(Lines(path, Field("text", False)).items())
        lines.close()
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert output.read_bytes().count(b"\n") == count
        return most

    await peak(100)
    assert await peak(4_000) < await peak(1_000) + 100_000


async def test_fewer_are_sent_when_the_server_is_busy_and_more_when_it_answers() -> None:
    pace, limits = Pace(16), []
    for _ in range(3):
        async with pace.slot() as sent:
            pass
        pace.note_busy(sent + 1)
        limits.append(pace.limit)
    assert limits == [8.0, 4.0, 2.0]
    for _ in range(200):
        pace.note_answer()
    assert pace.limit == 16.0


async def test_requests_that_were_sent_together_halve_the_number_once() -> None:
    pace = Pace(16)
    async with pace.slot() as one, pace.slot() as other:
        await asyncio.sleep(0.001)
        pace.note_busy(one)
        pace.note_busy(other)
    assert pace.limit == 8.0


async def test_no_more_requests_are_in_flight_than_the_limit() -> None:
    pace, running, most = Pace(3), 0, 0

    async def send() -> None:
        nonlocal running, most
        async with pace.slot():
            running += 1
            most = max(most, running)
            await asyncio.sleep(0.001)
            running -= 1

    await asyncio.gather(*(send() for _ in range(20)))
    assert most == 3


async def test_a_waiting_request_is_not_sent_after_a_stop() -> None:
    pace = Pace(1)

    async def send() -> None:
        async with pace.slot():
            pass

    async with pace.slot():
        waiting = [asyncio.create_task(send()) for _ in range(3)]
        await asyncio.sleep(0)
        pace.stop()
        ended: list[Any] = await asyncio.gather(*waiting, return_exceptions=True)
    assert all(isinstance(error, StoppedError) for error in ended)


class _Closed(Pace):
    """Notes for how long it is closed, and is not."""

    def __init__(self) -> None:
        super().__init__(4)
        self.seconds: list[float] = []

    def close_for(self, seconds: float) -> None:
        self.seconds.append(seconds)


@pytest.mark.parametrize(("asked", "waited"), [(None, 1.0), (0, 1.0), (3, 3.0)])
async def test_a_refusal_for_the_rate_closes_for_a_second_at_least(
    api: Server, tmp_path: Path, asked: int | None, waited: float
) -> None:
    api.refuse = lambda _: Refusal(429, "too many", retry_after=asked) if len(api.asked) == 1 else None
    closed = _Closed()
    wanted = job(api, tmp_path / "in.jsonl", tmp_path / "out.jsonl")
    lines = wanted.outcomes(1)
    await Worker(wanted, lines, Tally(), closed, "run").run(iter([Item(0, "a", "word")]))
    lines.close()
    assert closed.seconds == [waited]


def test_an_attempt_is_repeated_no_sooner_than_the_server_asks_for() -> None:
    assert pause(1, 300.0) == 300.0


def test_the_end_tells_what_was_done_and_how_fast() -> None:
    progress = Progress(10, "tokens")
    progress.note(6, 50.0, failed=1, before=3)
    assert progress.summary().startswith("10 items, 3 from earlier runs; 6 done, 1 failed in ")
    assert progress.summary().endswith(" tokens a second")


def test_the_start_before_the_work_is_separate_and_in_no_rate() -> None:
    progress = Progress(10, "tokens")
    progress._began -= 100.0
    progress.begin(10.0)
    progress.note(10, 50.0)
    said = progress.summary()
    assert " failed in 10.0 s after a start of 90.0 s: 1.0 a second, 5.0 tokens" in said
