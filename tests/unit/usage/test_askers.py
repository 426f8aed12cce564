import asyncio

import pytest

from frontend.errors import RateLimited
from frontend.usage.askers import Askers


class Reports:
    """Notes whose report begins, and keeps each until all may go on."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.go_on = asyncio.Event()
        self._askers = Askers()

    async def make(self, asker: str) -> None:
        async with self._askers.turn(asker):
            self.begun.append(asker)
            await self.go_on.wait()


async def test_who_asks_for_much_leaves_a_place_to_others() -> None:
    reports = Reports()
    tasks = [asyncio.create_task(reports.make(asker)) for asker in ["a"] * 8 + ["b"]]
    await asyncio.sleep(0.01)
    assert reports.begun == ["a", "b"]
    reports.go_on.set()
    await asyncio.gather(*tasks)


async def test_a_third_asker_comes_before_the_second_report_of_the_others() -> None:
    reports = Reports()
    tasks = [asyncio.create_task(reports.make(asker)) for asker in ["a", "a", "b", "b", "c"]]
    await asyncio.sleep(0.01)
    reports.go_on.set()
    await asyncio.gather(*tasks)
    assert reports.begun[:3] == ["a", "b", "c"]


async def test_an_asker_with_too_many_reports_is_refused() -> None:
    reports = Reports()
    tasks = [asyncio.create_task(reports.make("a")) for _ in range(8)]
    await asyncio.sleep(0.01)
    with pytest.raises(RateLimited):
        await reports.make("a")
    reports.go_on.set()
    await asyncio.gather(*tasks)
    await reports.make("a")


async def test_one_that_gives_up_leaves_its_place() -> None:
    reports = Reports()
    tasks = [asyncio.create_task(reports.make("a")) for _ in range(3)]
    await asyncio.sleep(0.01)
    for task in tasks[:2]:
        task.cancel()
    await asyncio.gather(*tasks[:2], return_exceptions=True)
    await asyncio.sleep(0.01)
    assert reports.begun == ["a", "a"]
    reports.go_on.set()
    await tasks[2]
