import asyncio

from frontend.http.stalls import StallWatch
from tests.eventually import until


class Draining(asyncio.Transport):
    """Something has left at each look."""

    def __init__(self) -> None:
        self.looks, self.aborted = 0, False

    def get_write_buffer_size(self) -> int:
        self.looks += 1
        return 1000 - self.looks

    def abort(self) -> None:
        self.aborted = True


async def test_a_connection_that_something_leaves_now_and_then_goes_on() -> None:
    transport = Draining()
    watch = StallWatch(transport, 0.05)
    watch.begin()
    await until(lambda: transport.looks > 30)
    assert not transport.aborted
    watch.end()
