"""A run from its beginning to its end, whoever does the work and however it ends."""

from collections.abc import Callable
from dataclasses import dataclass

from frontend.bulk.failures import BulkError
from frontend.bulk.kinds import PARQUET, output_of, source_of
from frontend.bulk.operations import OPERATIONS, Operation
from frontend.bulk.outputs import Output, sweep
from frontend.bulk.progress import Progress
from frontend.bulk.runs import Job, claimed
from frontend.bulk.sources import Source


@dataclass(frozen=True)
class Begun:
    """What a run works with; ``token`` makes the names of its requests its own."""

    operation: Operation
    source: Source
    output: Output
    progress: Progress
    token: str


def complete(job: Job, work: Callable[[Begun], bool], say: Callable[[str], None]) -> bool:
    """Do what is missing by ``work``, which tells whether it was left to its end; whether all has come to something."""
    operation = OPERATIONS[job.operation](job.options)
    source = source_of(job, operation)
    with claimed(job, source.mark) as token:
        sweep(job.output)
        output = output_of(job, operation, source.count)
        progress = Progress(source.count, operation.unit)
        try:
            whole = work(Begun(operation, source, output, progress, token))
        except KeyboardInterrupt:
            whole = False
        finally:
            output.close()
            progress.close()
        say(progress.summary() if source.count else f"there is nothing to do in {job.input}")
        if not whole:
            say(f"interrupted: the same command goes on with what is missing in {job.output}")
            return False
        return _finish(job, operation, source, output, say)


def _finish(job: Job, operation: Operation, source: Source, output: Output, say: Callable[[str], None]) -> bool:
    """Whether all that there is has been done; what is not is told."""
    if source_of(job, operation).mark != source.mark:
        raise BulkError(f"{job.input} has changed while it was read: name another output, and begin anew")
    if failed := output.failed():
        place = f"the column error of {job.output}" if job.output.suffix == PARQUET else job.failures
        say(f"{failed:,} have failed, see {place}; --retry-failed does them again")
    return not failed
