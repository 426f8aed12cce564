"""A run on this machine: its source, its output, and the way to its end, however it ends."""

import asyncio
import signal
import sys
from collections.abc import Callable

from frontend.bulk.client import Client, Server
from frontend.bulk.failures import BulkError
from frontend.bulk.operations import OPERATIONS, Operation
from frontend.bulk.outputs import AudioFiles, JsonLines, Output, failures_in, sweep
from frontend.bulk.pace import Pace
from frontend.bulk.progress import Progress
from frontend.bulk.runs import Job, Run
from frontend.bulk.sources import Field, Folder, Lines, Source
from frontend.bulk.work import Worker

LINES = (".jsonl", ".ndjson")
PARQUET = ".parquet"
EXTRA = "Parquet and --ray need more than the frontend: pip install 'quartet[bulk]'"


def source_of(job: Job, operation: Operation) -> Source:
    """What the input is, by its name."""
    path, taken = job.input, Field(job.column or operation.column, operation.is_file)
    if not path.exists():
        raise BulkError(f"{path}: there is no such file or folder")
    if path.suffix == PARQUET or (path.is_dir() and any(path.glob(f"*{PARQUET}"))):
        try:
            from frontend.bulk.parquet import Rows
        except ModuleNotFoundError:
            raise BulkError(EXTRA) from None
        return Rows(path, taken)
    if path.is_dir():
        return Folder(path, operation.suffixes)
    if path.suffix in LINES:
        return Lines(path, taken)
    raise BulkError(f"{path}: is no folder, and is called neither {', '.join(LINES)} nor {PARQUET}")


def output_of(job: Job, operation: Operation, total: int) -> Output:
    """Where outcomes go, by its name; speech goes into a folder."""
    path = job.output
    if job.operation == "speak":
        if path.suffix in (*LINES, PARQUET):
            raise BulkError(f"{path}: speech goes into a folder")
        return AudioFiles(path, failures_in(job.failures, job.again), operation.options["response_format"])
    if path.suffix in LINES:
        return JsonLines(path, failures_in(job.failures, job.again))
    if path.suffix != PARQUET:
        raise BulkError(f"{path}: must be called {', '.join(LINES)} or {PARQUET}")
    try:
        from frontend.bulk.parquet import Parts
    except ModuleNotFoundError:
        raise BulkError(EXTRA) from None
    return Parts(path, operation.fields, operation.part, total, job.again)


def run(job: Job, server: Server, at_once: int, say: Callable[[str], None]) -> bool:
    """Do what is missing; whether all that there is has come to something."""
    operation = OPERATIONS[job.operation](job.options)
    source = source_of(job, operation)
    with Run(job, source.mark) as begun:
        sweep(job.output)
        output = output_of(job, operation, source.count)
        progress = Progress(source.count, operation.unit)
        try:
            whole = asyncio.run(_work(operation, source, output, server, begun.token, progress, at_once))
        finally:
            output.close()
            progress.close()
        say(progress.summary())
        if not whole:
            say(f"interrupted: the same command goes on with what is missing in {job.output}")
            return False
        return finish(job, source, output, operation, say)


def finish(job: Job, source: Source, output: Output, operation: Operation, say: Callable[[str], None]) -> bool:
    """Whether all that there is has been done; what is not is told."""
    if source_of(job, operation).mark != source.mark:
        raise BulkError(f"{job.input} has changed while it was read: name another output, and begin anew")
    if failed := output.failed():
        place = f"the column error of {job.output}" if job.output.suffix == PARQUET else job.failures
        say(f"{failed:,} have failed, see {place}; --retry-failed does them again")
    return not failed


async def _work(
    operation: Operation, source: Source, output: Output, server: Server, token: str, progress: Progress, at_once: int
) -> bool:
    """Whether it came to its end: the first interrupt lets what is under way end, the second does not."""
    loop, pace = asyncio.get_running_loop(), Pace(at_once)

    def interrupt() -> None:
        loop.remove_signal_handler(signal.SIGINT)
        print("what is under way ends first; once more to end at once", file=sys.stderr)
        pace.stop()

    loop.add_signal_handler(signal.SIGINT, interrupt)
    async with Client(server, operation, pace, token) as client:
        await Worker(client, operation, output, progress).run(source.items(), at_once)
    return not pace.stopped.is_set()
