"""Parquet files: items from rows, and outcomes in the parts of a folder.

Only this module imports ``pyarrow``, which is not installed with the frontend.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from client.api import CommandError
from client.bulk.inputs import Field, Item, fingerprint_of
from client.bulk.outputs import Output, atomic_file

# Most rows in memory. Rows with recordings are large.
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


class ParquetRows:
    """The rows of a file, or of all files of a folder in the order of their names."""

    def __init__(self, path: Path, field: Field) -> None:
        self._field = field
        paths = sorted(filter(Path.is_file, path.glob("*.parquet"))) if path.is_dir() else [path]
        self.fingerprint, self.count = " ".join(fingerprint_of(file) for file in paths), 0
        # The row groups of all files: path, place in it, number of the first row, and rows.
        self._groups: list[tuple[Path, int, int, int]] = []
        for path in paths:
            metadata = self._open(path).metadata
            for group in range(metadata.num_row_groups):
                rows = metadata.row_group(group).num_rows
                self._groups.append((path, group, self.count, rows))
                self.count += rows

    def _open(self, path: Path) -> "pq.ParquetFile":
        try:
            file = pq.ParquetFile(path)
        except pa.ArrowInvalid as error:
            raise CommandError(f"{path}: {error}") from None
        if self._field.name not in file.schema_arrow.names:
            raise CommandError(f"{path}: has no column {self._field.name!r}; choose one with --column")
        return file

    def items(self, first: int = 0, count: int | None = None) -> Iterator[Item]:
        """See ``Source``."""
        end = self.count if count is None else first + count
        for path, group, number, rows in self._groups:
            if number < end and number + rows > first:
                for row, values in enumerate(self._rows(path, group), number):
                    if first <= row < end:
                        yield self._field.item(row, values, path.parent)

    def _rows(self, path: Path, group: int) -> Iterator[dict[str, Any]]:
        with self._open(path) as file:
            columns = sorted({self._field.name, "id"} & set(file.schema_arrow.names))
            size = _ROWS_OF_FILES if self._field.is_file else _ROWS
            for batch in file.iter_batches(size, row_groups=[group], columns=columns):
                yield from batch.to_pylist()


class ParquetParts(Output):
    """A folder with a part per ``size`` items, which appears when all of them have an outcome.

    A row is an item; ``error`` is why it failed. With ``again``, rows with an error count as missing, and a new part
    replaces the old one.
    """

    def __init__(self, path: Path, fields: Sequence[str], size: int, total: int, again: bool) -> None:
        self._path, self._size, self._total, self._again = path, size, total, again
        columns = [("item", pa.int64()), ("id", pa.string()), ("error", pa.string())]
        self._schema = pa.schema([*columns, *((name, _TYPES[name]) for name in fields)])
        # Rows of incomplete parts.
        self._open: dict[int, dict[int, dict[str, Any]]] = {}
        # The last part that was read, and its items that are done.
        self._seen: tuple[int, frozenset[int]] = (-1, frozenset())
        path.mkdir(parents=True, exist_ok=True)

    def _part(self, first: int) -> Path:
        return self._path / f"part-{first:010d}.parquet"

    def _items(self, first: int) -> range:
        return range(first, min(first + self._size, self._total))

    def _done(self, first: int) -> frozenset[int]:
        if self._seen[0] != first:
            path, done = self._part(first), frozenset[int]()
            if path.exists():
                done = frozenset(self._good(path)["item"].to_pylist() if self._again else self._items(first))
            self._seen = first, done
        return self._seen[1]

    @staticmethod
    def _good(path: Path) -> Any:
        table = pq.read_table(path)
        return table.filter(pc.is_null(table["error"]))

    def has(self, item: Item) -> bool:
        return item.number in self._done(item.number - item.number % self._size)

    def write(self, item: Item, values: dict[str, Any]) -> None:
        first = item.number - item.number % self._size
        rows = self._open.setdefault(first, {})
        rows[item.number] = {"item": item.number, "id": item.id, **values}
        if len(rows) + len(self._done(first)) == len(self._items(first)):
            self._write(self._part(first), rows)
            del self._open[first]

    def fail(self, item: Item, message: str) -> None:
        self.write(item, {"error": message})

    def _write(self, path: Path, rows: dict[int, dict[str, Any]]) -> None:
        table = pa.Table.from_pylist([rows[number] for number in sorted(rows)], self._schema)
        if path.exists():
            table = pa.concat_tables([self._good(path), table]).sort_by("item")
        with atomic_file(path) as file:
            pq.write_table(table, file)

    def failed(self) -> int:
        errors = (pq.read_table(path, columns=["error"])["error"] for path in self._path.glob("part-*.parquet"))
        return sum(len(column) - column.null_count for column in errors)

    def close(self) -> None:
        """The next run processes incomplete parts again."""
