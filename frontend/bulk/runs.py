"""What a run is, and the file beside its output that says so: the same output is never two runs'."""

import fcntl
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
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


class Run:
    """The lock on an output, and what the run was when it began; to be entered before the output is opened.

    ``token`` is the same whenever the run goes on: requests that are sent again bear the names that they had.
    """

    def __init__(self, job: Job, mark: str) -> None:
        self._job = job
        self._path = job.output.with_name(f"{job.output.name}.run")
        self._said = {
            "operation": job.operation,
            "input": str(job.input.resolve()),
            "column": job.column,
            "options": dict(job.options),
            "mark": mark,
        }
        self.token = ""
        self._file: BinaryIO | None = None

    def __enter__(self) -> "Run":
        if self._job.output.exists() and not self._path.exists():
            raise BulkError(f"{self._job.output} is there already and belongs to no run: name another output")
        with as_sentence(self._path):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._path.open("a+b", buffering=0)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.close()
            raise BulkError(f"another run writes to {self._job.output}: wait for it, or name another output") from None
        try:
            self._compare()
        except BulkError:
            self._file.close()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        if self._file is not None:
            self._file.close()

    def _compare(self) -> None:
        assert self._file is not None
        said = {}
        with suppress(orjson.JSONDecodeError):
            said = orjson.loads(self._path.read_bytes())
        if not said:
            self._begin()
            return
        self.token = said.pop("token")
        other = [name for name, value in self._said.items() if said.get(name) != value]
        if other == ["mark"]:
            raise BulkError(f"{self._job.input} has changed since {self._job.output} was begun: name another output")
        if other:
            raise BulkError(f"{self._job.output} was begun with another {other[0]}: name another output")

    def _begin(self) -> None:
        """Nothing was written before the first description was whole."""
        assert self._file is not None
        self.token = secrets.token_hex(8)
        with as_sentence(self._path):
            self._file.truncate(0)
            self._file.write(orjson.dumps({**self._said, "token": self.token}))
            os.fsync(self._file.fileno())
