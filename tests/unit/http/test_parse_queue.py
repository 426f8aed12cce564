"""Connections are parsed alternately, for a short time per turn of the event loop."""

import asyncio
import time
from collections.abc import Callable
from functools import partial

import pytest

from frontend.http.parse_queue import ParseQueue


class Sender:
    """A connection with so many pieces to parse, a millisecond each."""

    def __init__(self, queue: ParseQueue, name: str, pieces: int, parsed: list[str]) -> None:
        self._queue, self._name, self._pieces, self._parsed = queue, name, pieces, parsed
        queue.begin(self._parse)

    def _parse(self) -> None:
        self._parsed.append(self._name)
        time.sleep(0.001)
        self._pieces -= 1
        if self._pieces:
            self._queue.resume(self._parse)


async def _turns_until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not holds():  # noqa: ASYNC110 - a turn of the event loop each time
            await asyncio.sleep(0)


async def test_a_short_request_is_parsed_before_waiting_long_ones() -> None:
    parsed: list[str] = []
    queue = ParseQueue()
    for number in range(50):
        Sender(queue, f"long {number}", 40, parsed)
    await _turns_until(lambda: len(parsed) >= 200)
    before = len(parsed)
    Sender(queue, "short", 1, parsed)
    await _turns_until(lambda: "short" in parsed)
    assert parsed.index("short") == before


async def test_all_connections_are_parsed_to_the_end() -> None:
    parsed: list[str] = []
    queue = ParseQueue()
    for name in ("a", "b", "c"):
        Sender(queue, name, 10, parsed)
    await _turns_until(lambda: len(parsed) >= 30)
    assert {name: parsed.count(name) for name in "abc"} == {"a": 10, "b": 10, "c": 10}


async def test_long_requests_block_the_event_loop_for_milliseconds_only() -> None:
    parsed: list[str] = []
    queue = ParseQueue()
    for _ in range(2):
        Sender(queue, "long", 50, parsed)
    turns = []
    while len(parsed) < 100:
        before = len(parsed)
        await asyncio.sleep(0)
        turns.append(len(parsed) - before)
    assert max(turns) <= 4


async def test_many_short_requests_block_the_event_loop_for_milliseconds_only() -> None:
    parsed: list[str] = []
    queue = ParseQueue()
    for _ in range(50):
        Sender(queue, "short", 1, parsed)
    assert len(parsed) <= 4
    await _turns_until(lambda: len(parsed) == 50)


async def test_a_flood_of_short_requests_does_not_stop_a_long_one() -> None:
    parsed: list[str] = []
    queue = ParseQueue()
    Sender(queue, "long", 5, parsed)
    for _ in range(200):
        Sender(queue, "short", 1, parsed)
    await _turns_until(lambda: parsed.count("long") == 5)
    assert parsed.count("short") < 100


async def test_bytes_are_parsed_at_once_while_nobody_waits() -> None:
    parsed: list[str] = []
    Sender(ParseQueue(), "first", 1, parsed)
    assert parsed == ["first"]


async def test_a_connection_goes_on_in_another_turn() -> None:
    parsed: list[str] = []
    ParseQueue().resume(partial(parsed.append, "reader"))
    assert parsed == []
    await asyncio.sleep(0)
    assert parsed == ["reader"]


async def test_a_connection_that_fails_does_not_stop_the_others() -> None:
    def fail() -> None:
        raise ConnectionError

    parsed: list[str] = []
    queue = ParseQueue()
    with pytest.raises(ConnectionError):
        queue.begin(fail)
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: parsed.append("failed"))
    queue.resume(fail)
    queue.resume(partial(parsed.append, "next"))
    await _turns_until(lambda: len(parsed) == 2)
    assert parsed == ["failed", "next"]
