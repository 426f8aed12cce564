"""The work on this machine, in one event loop."""

import asyncio
import signal
import sys
from collections.abc import Callable

from frontend.bulk.client import Client, Server
from frontend.bulk.course import Begun, complete
from frontend.bulk.pace import Pace
from frontend.bulk.runs import Job
from frontend.bulk.work import Worker


def run(job: Job, server: Server, at_once: int, say: Callable[[str], None]) -> bool:
    """Do what is missing; whether all that there is has come to something."""
    return complete(job, lambda its: asyncio.run(_work(its, server, at_once)), say)


async def _work(its: Begun, server: Server, at_once: int) -> bool:
    """Whether it came to its end: the first interrupt lets what is under way end, the second does not."""
    loop, pace = asyncio.get_running_loop(), Pace(at_once)

    def interrupt() -> None:
        loop.remove_signal_handler(signal.SIGINT)
        print("what is under way ends first; once more to end at once", file=sys.stderr)
        pace.stop()

    loop.add_signal_handler(signal.SIGINT, interrupt)
    async with Client(server, its.operation, pace, its.token, its.progress.tell) as client:
        await Worker(client, its.operation, its.output, its.progress).run(its.source.items(), at_once)
    return not pace.stopped.is_set()
