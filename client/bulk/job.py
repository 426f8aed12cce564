"""The description of a run: its input and output by their names, and the lock of its output."""

import fcntl
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import BinaryIO

import orjson

from client.api import CommandError
from client.bulk.inputs import Field, Folder, Lines, Source
from client.bulk.operations import OPERATIONS, Operation
from client.bulk.outputs import AudioFiles, Failures, JsonLines, LineFile, Output

LINES, PARQUET = (".jsonl", ".ndjson"), ".parquet"
_EXTRA = "Parquet needs more than the frontend: in a checkout, pip install '.[bulk]'"


@dataclass(frozen=True)
class Job:
    """An operation over the items of ``input``, with ``options`` in every request.

    ``url`` ends with /v1. ``column`` is the field of lines or rows to use; ``again`` retries failed items. At most
    ``at_once`` requests are in flight. The run ends after ``patience`` seconds without an answer.
    """

    action: str
    input: Path
    output: Path
    options: Mapping[str, str]
    url: str
    key: str = field(repr=False)
    column: str = ""
    again: bool = False
    at_once: int = 16
    patience: float = 3600.0

    @property
    def operation(self) -> Operation:
        return OPERATIONS[self.action](self.options)

    @property
    def failures(self) -> Path:
        """The file of failures, unless the output has a column for them."""
        return self.output.with_name(f"{self.output.name}.failed.jsonl")

    def source(self) -> Source:
        """The input, by the kind of its name."""
        path, operation = self.input, self.operation
        taken = Field(self.column or operation.column, operation.is_file)
        if not path.exists():
            raise CommandError(f"{path}: there is no such file or folder")
        if path.suffix == PARQUET or (path.is_dir() and any(part.is_file() for part in path.glob(f"*{PARQUET}"))):
            rows: Source = _parquet().ParquetRows(path, taken)
            return rows
        if path.is_dir():
            return Folder(path, operation.suffixes)
        if path.suffix in LINES:
            return Lines(path, taken)
        raise CommandError(f"{path}: is no folder, and is called neither {', '.join(LINES)} nor {PARQUET}")

    def outcomes(self, total: int, failures: Failures | None = None) -> Output:
        """The output for ``total`` items, by the kind of its name; speech goes to a folder.

        ``failures`` replaces the file of failures.
        """
        path, operation = self.output, self.operation
        if self.action == "speak":
            if path.suffix in (*LINES, PARQUET):
                raise CommandError(f"{path}: speech goes into a folder")
            return AudioFiles(path, operation.options["response_format"], failures or self._failed(total))
        if path.suffix in LINES:
            return JsonLines(path, total, failures or self._failed(total))
        if path.suffix != PARQUET:
            raise CommandError(f"{path}: must be called {', '.join(LINES)} or {PARQUET}")
        parts: Output = _parquet().ParquetParts(path, operation.fields, operation.part, total, self.again)
        return parts

    def _failed(self, total: int) -> LineFile:
        """The failures of earlier runs, or none if they are retried."""
        if self.again:
            self.failures.unlink(missing_ok=True)
        return LineFile(self.failures, total)


def _parquet() -> ModuleType:
    try:
        from client.bulk import parquet
    except ModuleNotFoundError:
        raise CommandError(_EXTRA) from None
    return parquet


@contextmanager
def lock_output(job: Job, fingerprint: str) -> Iterator[str]:
    """Lock a job's output before it is opened. An existing output must come from the same job.

    Yields a token that stays the same when the run continues, so that repeated requests have the same ids.
    """
    path = job.output.with_name(f"{job.output.name}.run")
    if job.output.exists() and not path.exists():
        raise CommandError(f"{job.output} is there already and belongs to no run: name another output")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b", buffering=0) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CommandError(f"another run writes to {job.output}: wait for it, or name another output") from None
        yield _token(job, fingerprint, path, file)


def _token(job: Job, fingerprint: str, path: Path, file: BinaryIO) -> str:
    description = {
        "operation": job.action,
        "input": str(job.input.resolve()),
        "column": job.column,
        "options": dict(job.options),
        "mark": fingerprint,
    }
    try:
        known = orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError:
        # The file is new, or its writer was killed before it wrote any outcome.
        token = secrets.token_hex(8)
        file.truncate(0)
        file.write(orjson.dumps({**description, "token": token}))
        os.fsync(file.fileno())
        return token
    other = [name for name, value in description.items() if known.get(name) != value]
    if other == ["mark"]:
        raise CommandError(f"{job.input} has changed since {job.output} was begun: name another output")
    if other:
        raise CommandError(f"{job.output} was begun with another {other[0]}: name another output")
    return str(known["token"])
