import asyncio
from collections.abc import Callable

from frontend.http.stalls import StallWatch
from tests.eventually import until

_SECONDS = 0.05


class Transport(asyncio.Transport):
    """Something is to be written, as ``unwritten`` says at each look."""

    def __init__(self, unwritten: Callable[[int], int]) -> None:
        self._unwritten = unwritten
        self.looks = 0
        self.aborted = False

    def get_write_buffer_size(self) -> int:
        self.looks += 1
        return self._unwritten(self.looks)

    def abort(self) -> None:
        self.aborted = True


async def test_a_connection_that_nothing_leaves_is_ended_after_its_time() -> None:
    transport = Transport(lambda looks: 1000)
    began = asyncio.get_running_loop().time()
    StallWatch(transport, _SECONDS).begin()
    await until(lambda: transport.aborted)
    assert asyncio.get_running_loop().time() - began >= _SECONDS


async def test_one_that_something_leaves_now_and_then_goes_on() -> None:
    transport = Transport(lambda looks: 1000 - looks)
    StallWatch(transport, _SECONDS).begin()
    await until(lambda: transport.looks > 30)
    assert not transport.aborted


async def test_one_that_has_caught_up_is_not_looked_at_any_more() -> None:
    transport = Transport(lambda looks: 1000)
    watch = StallWatch(transport, _SECONDS)
    watch.begin()
    watch.end()
    looks = transport.looks
    await asyncio.sleep(2 * _SECONDS)
    assert (transport.looks, transport.aborted) == (looks, False)
