"""What an input and an output are, by their names."""

from frontend.bulk.failures import BulkError
from frontend.bulk.operations import Operation
from frontend.bulk.outputs import AudioFiles, JsonLines, Output, failures_in
from frontend.bulk.runs import Job
from frontend.bulk.sources import Field, Folder, Lines, Source

LINES = (".jsonl", ".ndjson")
PARQUET = ".parquet"
EXTRA = "Parquet and --ray need more than the frontend: pip install 'quartet[bulk]'"


def source_of(job: Job, operation: Operation) -> Source:
    """What the input is, by its name."""
    path, taken = job.input, Field(job.column or operation.column, operation.is_file)
    if not path.exists():
        raise BulkError(f"{path}: there is no such file or folder")
    if path.suffix == PARQUET or (path.is_dir() and any(found.is_file() for found in path.glob(f"*{PARQUET}"))):
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
