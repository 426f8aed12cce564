"""Bodies of many connections are parsed in turn, a short time in each turn of the event loop."""

import asyncio
import time
from functools import partial
from typing import Any

from frontend.http.connection import ParseQueue


async def test_others_have_the_event_loop_between_many_connections() -> None:
    queue, parsed, seen = ParseQueue(), [], []

    def parse(number: int) -> None:
        time.sleep(0.002)
        parsed.append(number)

    for number in range(10):
        queue.add(partial(parse, number))
    while len(parsed) < 10:
        await asyncio.sleep(0)
        seen.append(len(parsed))
    assert parsed == list(range(10))
    assert max(after - before for before, after in zip([0, *seen], seen, strict=False)) <= 2


async def test_a_connection_that_fails_keeps_no_other_from_its_turn() -> None:
    queue, parsed, faults = ParseQueue(), [], []

    def fail() -> None:
        raise ConnectionError

    def note(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        faults.append(context["exception"])

    asyncio.get_running_loop().set_exception_handler(note)
    queue.add(fail)
    queue.add(lambda: parsed.append("next"))
    await asyncio.sleep(0.01)
    assert (parsed, [type(fault) for fault in faults]) == (["next"], [ConnectionError])
