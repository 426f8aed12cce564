"""A run from start to end, on one machine or a cluster."""

import asyncio
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass

from client.api import CommandError
from client.bulk.inputs import Source
from client.bulk.job import PARQUET, Job, lock_output
from client.bulk.outputs import Output, remove_partials
from client.bulk.pace import Pace
from client.bulk.progress import Progress
from client.bulk.work import Worker


@dataclass(frozen=True)
class RunContext:
    """What a run works with; ``token`` makes the names of its requests its own."""

    job: Job
    source: Source
    output: Output
    progress: Progress
    token: str


def complete(job: Job, work: Callable[[RunContext], bool]) -> bool:
    """Do what is missing by ``work``, which tells whether it was left to its end; whether all has come to something."""
    source = job.source()
    with lock_output(job, source.mark) as token:
        remove_partials(job.output)
        output = job.outcomes(source.count)
        progress = Progress(source.count, job.operation.unit)
        try:
            whole = work(RunContext(job, source, output, progress, token))
        except KeyboardInterrupt:
            whole = False
        finally:
            output.close()
            progress.close()
        print(progress.summary() if source.count else f"there is nothing to do in {job.input}")
        if not whole:
            print(f"interrupted: the same command goes on with what is missing in {job.output}")
            return False
        if job.source().mark != source.mark:
            raise CommandError(f"{job.input} has changed while it was read: name another output, and begin anew")
        if failed := output.failed():
            place = f"the column error of {job.output}" if job.output.suffix == PARQUET else job.failures
            print(f"{failed:,} have failed, see {place}; --retry-failed does them again")
        return not failed


def run(job: Job) -> bool:
    """Do what is missing on this machine, in one event loop; whether all that there is has come to something."""
    return complete(job, lambda context: asyncio.run(_work(context)))


async def _work(context: RunContext) -> bool:
    """Whether it came to its end: the first interrupt lets what is under way end, the second does not."""
    loop, pace = asyncio.get_running_loop(), Pace(context.job.at_once)

    def interrupt() -> None:
        loop.remove_signal_handler(signal.SIGINT)
        print("what is under way ends first; once more to end at once", file=sys.stderr)
        pace.stop()

    loop.add_signal_handler(signal.SIGINT, interrupt)
    worker = Worker(context.job, context.output, context.progress, pace, context.token)
    await worker.run(context.source.items())
    return not pace.stopped.is_set()
