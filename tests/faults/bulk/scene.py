"""The product as ``make run`` starts it, 10,000 texts and 200 recordings, and ``quartet bulk`` over them."""

import asyncio
import json
import os
import re
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from frontend.access.registry import Registry
from frontend.commands.database import with_registry
from frontend.config.reading import PREFIX
from frontend.config.settings import Settings
from scripts.benchmark.common.inputs import Call, calls, clip
from scripts.benchmark.common.target import Target, own_product
from scripts.local_triton.child import die_with_parent
from tests.conftest import ROOT

OPERATIONS = ("embed", "transcribe")
# The benchmark's calls of the same work, and what its texts stand under.
CALLS = {"embed": "embeddings", "transcribe": "transcriptions"}
_RATE = re.compile(r"failed in [\d,.]+ s(?: after a start of [\d,.]+ s)?: ([\d,.]+) a second")


@dataclass(frozen=True)
class Scene:
    """A running product with a key of the tier bulk and one of the tier pro, and a folder with the input."""

    target: Target
    bulk_key: str
    pro_key: str
    folder: Path
    texts: int
    recordings: int
    operations: tuple[str, ...] = OPERATIONS

    def input(self, operation: str) -> Path:
        return self.folder / ("texts.jsonl" if operation == "embed" else "recordings")

    def count(self, operation: str) -> int:
        return self.texts if operation == "embed" else self.recordings

    def bench_calls(self, operation: str, count: int) -> list[Call]:
        """The benchmark's own calls with the same texts and recordings."""
        return calls(CALLS[operation], count, seed=1)

    async def start(self, operation: str, output: Path, *further: str) -> "Bulk":
        """``quartet bulk`` in a process of its own."""
        command = [sys.executable, "-m", "client", "bulk", operation, str(self.input(operation))]
        command += ["--output", str(output), *further]
        environ = {**os.environ, f"{PREFIX}URL": self.target.address, f"{PREFIX}API_KEY": self.bulk_key}
        process = await asyncio.create_subprocess_exec(
            *command, cwd=ROOT, env=environ, stdout=asyncio.subprocess.PIPE, preexec_fn=die_with_parent
        )
        return Bulk(process)


@dataclass
class Bulk:
    """A run of the command."""

    process: asyncio.subprocess.Process

    async def kill(self) -> None:
        """As the kernel kills what takes too much memory."""
        self.process.send_signal(signal.SIGKILL)
        await self.process.wait()

    async def end(self) -> float:
        """Items a second, as the command itself says at its end; it must have done all."""
        said, _ = await self.process.communicate()
        assert self.process.returncode == 0, said.decode()
        found = _RATE.search(said.decode())
        assert found is not None, said
        print(f"    {said.decode().strip()}", flush=True)
        return float(found[1].replace(",", ""))


def texts_of(count: int, longest: int) -> list[str]:
    """The texts of the benchmark's calls, in their order, each with so many words at most."""
    found: list[str] = []
    for call in calls("embeddings", -(-count // 4), seed=1):
        assert call.body is not None
        found += call.body["input"]
    return [" ".join(text.split()[:longest]) for text in found[:count]]


def _write(folder: Path, texts: Sequence[str], recordings: int) -> None:
    with (folder / "texts.jsonl").open("w", encoding="utf-8") as file:
        for number, text in enumerate(texts):
            file.write(json.dumps({"id": f"text-{number}", "text": text}) + "\n")
    (folder / "recordings").mkdir()
    for number in range(recordings):
        (folder / "recordings" / f"{number:04d}.wav").write_bytes(clip(number % 32)[0])


@contextmanager
def scene(folder: Path, texts: Sequence[str], recordings: int) -> Iterator[Scene]:
    _write(folder, texts, recordings)
    with own_product() as target:

        async def keys(registry: Registry) -> list[str]:
            return [await registry.create(tier, tier, None, {}, None) for tier in ("bulk", "pro")]

        bulk, pro = with_registry(Settings(database=target.database), keys)
        yield Scene(target, bulk, pro, folder, len(texts), recordings)


def faults(records: Sequence[dict[str, object]], count: int) -> list[str]:
    """Whatever is not every item once."""
    numbers = [record["item"] for record in records]
    checks = {
        f"{len(numbers)} items, not {count}": len(numbers) == count,
        f"{len(numbers) - len(set(map(str, numbers)))} items twice": len(set(map(str, numbers))) == len(numbers),
        "other items": set(map(str, numbers)) == set(map(str, range(count))),
        "items with errors": not any(record.get("error") for record in records),
        "two items of one id": len({str(record["id"]) for record in records}) == len(records),
    }
    return [fault for fault, holds in checks.items() if not holds]


def records_of(output: Path) -> list[dict[str, object]]:
    """What lies in an output: the numbers, ids and errors of its items."""
    if output.suffix == ".parquet":
        import pyarrow.parquet as pq

        return list(pq.read_table(output, columns=["item", "id", "error"]).to_pylist())
    with output.open("rb") as lines:
        return [{name: value for name, value in json.loads(line).items() if name in ("item", "id")} for line in lines]


class Counter:
    """How many items are in an output: whole lines, or rows of parts; each is looked at once."""

    def __init__(self, output: Path) -> None:
        self._output, self._place, self._parts, self._count = output, 0, set[str](), 0

    def __call__(self) -> int:
        if self._output.suffix == ".parquet":
            self._count_parts()
        elif self._output.exists():
            with self._output.open("rb") as file:
                file.seek(self._place)
                added = file.read()
            self._place, self._count = self._place + len(added), self._count + added.count(b"\n")
        return self._count

    def _count_parts(self) -> None:
        import pyarrow.parquet as pq

        for part in self._output.glob("part-*.parquet"):
            if part.name not in self._parts:
                self._parts.add(part.name)
                self._count += pq.read_metadata(part).num_rows
