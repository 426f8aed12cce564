"""Parquet files: items that come from their rows, and outcomes that go into parts of a folder.

Only this module knows ``pyarrow``, which is not installed with the frontend.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from frontend.bulk.failures import BulkError, as_sentence
from frontend.bulk.outputs import whole_file
from frontend.bulk.sources import Field, Item, item_of, mark_of

_ID = "id"
# Rows that are held at once: recordings in them are large.
_ROWS, _ROWS_OF_FILES = 1024, 8
_SEGMENT = pa.struct(
    [("id", pa.int32()), ("start", pa.float64()), ("end", pa.float64()), ("text", pa.string())]
    + [("avg_logprob", pa.float64()), ("no_speech_prob", pa.float64())]
)
_WORD = pa.struct(
    [("start", pa.float64()), ("end", pa.float64()), ("word", pa.string()), ("probability", pa.float64())]
)
_TYPES = {
    "embedding": pa.list_(pa.float32()),
    "text": pa.string(),
    "language": pa.string(),
    "duration": pa.float64(),
    "segments": pa.list_(_SEGMENT),
    "words": pa.list_(_WORD),
}


class Rows:
    """The rows of a file, or of all files of a folder in the order of their names."""

    def __init__(self, path: Path, field: Field) -> None:
        self._field = field
        with as_sentence(path):
            self._paths = sorted(filter(Path.is_file, path.glob("*.parquet"))) if path.is_dir() else [path]
            self.mark = " ".join(mark_of(file) for file in self._paths)
            counts = [self._open(file).metadata.num_rows for file in self._paths]
        self._counts, self.count = counts, sum(counts)

    def _open(self, path: Path) -> "pq.ParquetFile":
        try:
            file = pq.ParquetFile(path)
        except pa.ArrowInvalid as error:
            raise BulkError(f"{path}: {error}") from None
        if self._field.name not in file.schema_arrow.names:
            raise BulkError(f"{path}: has no column {self._field.name!r}; choose one with --column")
        return file

    def items(self, first: int = 0, count: int | None = None) -> Iterator[Item]:
        """See ``Source``."""
        end = self.count if count is None else min(self.count, first + count)
        start = 0
        for path, rows in zip(self._paths, self._counts, strict=True):
            if start < end and start + rows > first:
                with as_sentence(path):
                    yield from self._of_file(path, start, first, end)
            start += rows

    def _of_file(self, path: Path, start: int, first: int, end: int) -> Iterator[Item]:
        file = self._open(path)
        columns = [self._field.name] + [_ID] * (_ID in file.schema_arrow.names and self._field.name != _ID)
        for group in range(file.num_row_groups):
            rows = file.metadata.row_group(group).num_rows
            if start < end and start + rows > first:
                yield from self._of_group(file, group, columns, path, start, first, end)
            start += rows

    def _of_group(
        self, file: Any, group: int, columns: list[str], path: Path, number: int, first: int, end: int
    ) -> Iterator[Item]:
        rows = _ROWS_OF_FILES if self._field.is_file else _ROWS
        for batch in file.iter_batches(rows, row_groups=[group], columns=columns):
            if number < end and number + len(batch) > first:
                for row, value in enumerate(batch.to_pylist(), number):
                    if first <= row < end:
                        yield item_of(row, value.get(_ID), value[self._field.name], self._field, path.parent)
            number += len(batch)


class Parts:
    """A folder with a part for each ``size`` items, which appears when all of them have come to something.

    A row is an item; ``error`` says why it has nothing else. With ``again``, rows with an error count as missing,
    and a part in which they are done takes the place of the one that was.
    """

    def __init__(self, path: Path, fields: Sequence[str], size: int, total: int, again: bool) -> None:
        self._path, self.size, self._total, self._again = path, size, total, again
        columns = [("item", pa.int64()), ("id", pa.string()), ("error", pa.string())]
        self._schema = pa.schema([*columns, *((name, _TYPES[name]) for name in fields)])
        # Rows by part, and how many are still to come.
        self._open: dict[int, dict[int, dict[str, Any]]] = {}
        self._missing: dict[int, int] = {}
        # The items of the part that was looked at last which are done already.
        self._seen: tuple[int, frozenset[int]] = (-1, frozenset())
        with as_sentence(path):
            path.mkdir(parents=True, exist_ok=True)

    def _part(self, first: int) -> Path:
        return self._path / f"part-{first:010d}.parquet"

    def _done(self, first: int) -> frozenset[int]:
        if self._seen[0] != first:
            path, whole = self._part(first), range(first, min(first + self.size, self._total))
            done: frozenset[int] = frozenset()
            if path.exists():
                done = frozenset(self._good(path)["item"].to_pylist()) if self._again else frozenset(whole)
            self._seen = first, done
        return self._seen[1]

    @staticmethod
    def _good(path: Path) -> Any:
        table = pq.read_table(path)
        return table.filter(pc.is_null(table["error"]))

    def has(self, item: Item) -> bool:
        """Whether the item is done, or has failed and is not to be done again."""
        return item.number in self._done(item.number - item.number % self.size)

    def write(self, item: Item, values: dict[str, Any]) -> None:
        """What came of an item."""
        first = item.number - item.number % self.size
        if first not in self._open:
            self._open[first] = {}
            self._missing[first] = min(self.size, self._total - first) - len(self._done(first))
        rows = self._open[first]
        rows[item.number] = {"item": item.number, "id": item.id, **values}
        if len(rows) == self._missing[first]:
            self._write(self._part(first), rows)
            del self._open[first], self._missing[first]

    def fail(self, item: Item, message: str) -> None:
        """Why nothing came of it."""
        self.write(item, {"error": message})

    def _write(self, path: Path, rows: dict[int, dict[str, Any]]) -> None:
        table = pa.Table.from_pylist([rows[number] for number in sorted(rows)], self._schema)
        if path.exists():
            table = pa.concat_tables([self._good(path), table]).sort_by("item")
        with as_sentence(path), whole_file(path) as file:
            pq.write_table(table, file)

    def failed(self) -> int:
        """How many items have failed, in all parts that there are."""
        errors = (pq.read_table(path, columns=["error"])["error"] for path in self._path.glob("part-*.parquet"))
        return sum(len(column) - column.null_count for column in errors)

    def close(self) -> None:
        """What is not whole is done again the next time."""
