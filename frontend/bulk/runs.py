"""What a run is, and the file beside its output that says so: the same output is never two runs'."""

import fcntl
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import orjson

from frontend.bulk.failures import BulkError, as_sentence


@dataclass(frozen=True)
class Job:
    """What is asked for: ``operation`` over the items of ``input``, with ``options`` in every request.

    ``column`` is the field of lines or rows that is taken; ``again`` does what has failed once more.
    """

    operation: str
    input: Path
    output: Path
    column: str
    options: Mapping[str, str]
    again: bool = False

    @property
    def failures(self) -> Path:
        """Where failures go, unless the output has a place for them."""
        return self.output.with_name(f"{self.output.name}.failed.jsonl")


@contextmanager
def claimed(job: Job, mark: str) -> Iterator[str]:
    """Lock a job's output, which must have been begun by the same one if it was; to be entered before it is opened.

    Gives a token that is the same whenever the run goes on: requests that are sent again bear the names that they had.
    """
    path = job.output.with_name(f"{job.output.name}.run")
    if job.output.exists() and not path.exists():
        raise BulkError(f"{job.output} is there already and belongs to no run: name another output")
    with as_sentence(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a+b", buffering=0)
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BulkError(f"another run writes to {job.output}: wait for it, or name another output") from None
        yield _token(job, mark, path, file)


def _token(job: Job, mark: str, path: Path, file: BinaryIO) -> str:
    own = {
        "operation": job.operation,
        "input": str(job.input.resolve()),
        "column": job.column,
        "options": dict(job.options),
        "mark": mark,
    }
    try:
        said = orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError:
        # Nothing was written before the first description was whole.
        token = secrets.token_hex(8)
        with as_sentence(path):
            file.truncate(0)
            file.write(orjson.dumps({**own, "token": token}))
            os.fsync(file.fileno())
        return token
    other = [name for name, value in own.items() if said.get(name) != value]
    if other == ["mark"]:
        raise BulkError(f"{job.input} has changed since {job.output} was begun: name another output")
    if other:
        raise BulkError(f"{job.output} was begun with another {other[0]}: name another output")
    return str(said["token"])
