import asyncio
import time
from collections.abc import Callable

from frontend.http.feeder import Feeder


class Sender:
    """A connection with so many pieces for its parser, each of which takes a millisecond."""

    def __init__(self, name: str, pieces: int, fed: list[str]) -> None:
        self._name, self._pieces, self._fed = name, pieces, fed
        self.fed_seconds = 0.0

    def feed(self) -> bool:
        self._fed.append(self._name)
        time.sleep(0.001)
        self._pieces -= 1
        return self._pieces > 0


async def _turns_until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not holds():  # noqa: ASYNC110 - a turn of the event loop each time
            await asyncio.sleep(0)


async def test_what_takes_long_to_parse_stands_before_nobody() -> None:
    fed: list[str] = []
    feeder = Feeder(asyncio.get_running_loop())
    for number in range(50):
        feeder.add(Sender(f"long {number}", 40, fed))
    await _turns_until(lambda: len(fed) >= 200)
    before = len(fed)
    feeder.add(Sender("short", 1, fed))
    await _turns_until(lambda: "short" in fed)
    assert fed.index("short") == before


async def test_everybody_is_parsed_to_the_end() -> None:
    fed: list[str] = []
    feeder = Feeder(asyncio.get_running_loop())
    for name in ("a", "b", "c"):
        feeder.add(Sender(name, 10, fed))
    await _turns_until(lambda: len(fed) >= 30)
    assert {name: fed.count(name) for name in "abc"} == {"a": 10, "b": 10, "c": 10}


async def test_the_time_of_all_pieces_of_a_connection_is_added_up() -> None:
    sender = Sender("a", 10, [])
    Feeder(asyncio.get_running_loop()).add(sender)
    await _turns_until(lambda: sender.fed_seconds >= 10 * 0.001)


async def test_parsing_leaves_the_event_loop_to_others_after_some_milliseconds() -> None:
    fed: list[str] = []
    feeder = Feeder(asyncio.get_running_loop())
    for _ in range(2):
        feeder.add(Sender("long", 50, fed))
    turns = []
    while len(fed) < 100:
        before = len(fed)
        await asyncio.sleep(0)
        turns.append(len(fed) - before)
    assert max(turns) <= 4


async def test_what_comes_while_nobody_waits_is_parsed_at_once() -> None:
    fed: list[str] = []
    Feeder(asyncio.get_running_loop()).add(Sender("first", 1, fed))
    assert fed == ["first"]


async def test_who_asks_for_more_while_it_reads_gets_it_in_another_turn() -> None:
    fed: list[str] = []
    feeder = Feeder(asyncio.get_running_loop())
    feeder.add(Sender("reader", 1, fed), later=True)
    assert fed == []
    await asyncio.sleep(0)
    assert fed == ["reader"]
