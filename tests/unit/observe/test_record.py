import asyncio
import time

import pytest

from frontend.observe.record import Stopwatch, begin, current


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_what_goes_on_side_by_side_is_not_counted_twice(clock: list[float]) -> None:
    watch = Stopwatch()
    with watch:
        clock[0] += 1
        with watch:
            clock[0] += 2
        clock[0] += 4
    clock[0] += 8
    with watch:
        clock[0] += 16
        assert watch.seconds == 23
    assert watch.seconds == 23


async def test_tasks_of_a_request_write_to_its_record_and_others_to_none() -> None:
    async def name(model: str) -> None:
        current().model = model

    async def request(model: str) -> str:
        own = begin()
        await asyncio.create_task(name(model))
        return own.model

    assert list(await asyncio.gather(request("a"), request("b"))) == ["a", "b"]
    await name("c")
    assert current().model == ""
