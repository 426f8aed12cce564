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
    """The objects of a run. Request ids contain ``token``."""

    job: Job
    source: Source
    output: Output
    progress: Progress
    token: str


def complete(job: Job, work: Callable[[RunContext], bool]) -> bool:
    """Process missing items by ``work``, which returns whether it finished. Return whether all items are done."""
    source = job.source()
    with lock_output(job, source.fingerprint) as token:
        remove_partials(job.output)
        output = job.outcomes(source.count)
        progress = Progress(source.count, job.operation.unit)
        try:
            finished = work(RunContext(job, source, output, progress, token))
        except KeyboardInterrupt:
            finished = False
        finally:
            output.close()
            progress.close()
        print(progress.summary() if source.count else f"there is nothing to do in {job.input}")
        if not finished:
            print(f"interrupted: the same command goes on with what is missing in {job.output}")
            return False
        if job.source().fingerprint != source.fingerprint:
            raise CommandError(f"{job.input} has changed while it was read: name another output, and begin anew")
        if failed := output.failed():
            place = f"the column error of {job.output}" if job.output.suffix == PARQUET else job.failures
            print(f"{failed:,} have failed, see {place}; --retry-failed does them again")
        return not failed


def run(job: Job) -> bool:
    """Process missing items on this machine, in one event loop. Return whether all items are done."""
    return complete(job, lambda context: asyncio.run(_work(context)))


async def _work(context: RunContext) -> bool:
    """Return whether it finished. The first interrupt lets requests in flight end, the second cancels them."""
    loop, pace = asyncio.get_running_loop(), Pace(context.job.at_once)

    def interrupt() -> None:
        loop.remove_signal_handler(signal.SIGINT)
        print("waiting for requests in flight; interrupt again to stop at once", file=sys.stderr)
        pace.stop()

    loop.add_signal_handler(signal.SIGINT, interrupt)
    worker = Worker(context.job, context.output, context.progress, pace, context.token)
    await worker.run(context.source.items())
    return not pace.stopped.is_set()
