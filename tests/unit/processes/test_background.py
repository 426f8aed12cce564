import asyncio
from contextlib import suppress

from frontend.observe.logs import NO_REQUEST, request_id
from frontend.processes.background import Repeating, start_apart
from tests.eventually import until


class Work:
    def __init__(self, *failures: Exception) -> None:
        self.failures, self.done = list(failures), 0

    async def __call__(self) -> None:
        self.done += 1
        if self.failures:
            raise self.failures.pop()


async def test_work_is_done_again_and_again_whatever_error_there_was() -> None:
    work = Work(RuntimeError("once"))
    repeating = Repeating(0.01, work)
    repeating.start()
    await asyncio.sleep(0.1)
    await repeating.close()
    assert work.done > 2


async def test_it_ends_with_close() -> None:
    work = Work()
    repeating = Repeating(0.01, work)
    repeating.start()
    await repeating.close()
    await asyncio.sleep(0.05)
    assert work.done == 0


async def test_work_that_loses_its_cancellation_is_the_last() -> None:
    async def work() -> None:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(60)

    repeating = Repeating(0.0, work)
    repeating.start()
    await asyncio.sleep(0.02)
    async with asyncio.timeout(5):
        await repeating.close()


async def test_what_was_never_started_can_be_closed() -> None:
    await Repeating(1, Work()).close()


async def test_finish_waits_for_the_work_that_has_begun() -> None:
    done: list[str] = []

    async def work() -> None:
        await asyncio.sleep(0.1)
        done.append("work")

    repeating = Repeating(0.0, work)
    repeating.start()
    await asyncio.sleep(0.02)
    await repeating.finish()
    assert done == ["work"]


async def test_whoever_is_cancelled_while_it_ends_the_work_is_cancelled() -> None:
    async def work() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.1)

    repeating = Repeating(0.0, work)
    repeating.start()
    await asyncio.sleep(0.02)
    closing = asyncio.create_task(repeating.close())
    await asyncio.sleep(0.02)
    closing.cancel()
    await asyncio.wait([closing])
    assert closing.cancelled()


async def test_what_is_started_apart_belongs_to_no_request() -> None:
    async def names() -> str:
        return request_id.get()

    token = request_id.set("the first that needed it")
    assert await start_apart(names()) == NO_REQUEST
    request_id.reset(token)


async def test_what_is_repeated_belongs_to_no_request() -> None:
    names: list[str] = []

    async def note() -> None:
        names.append(request_id.get())

    token = request_id.set("the first that needed it")
    repeating = Repeating(0.01, note)
    repeating.start()
    await until(lambda: names)
    await repeating.close()
    request_id.reset(token)
    assert set(names) == {NO_REQUEST}
