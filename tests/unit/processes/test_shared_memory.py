"""Bytes that two processes share, and their lifetime."""

import os
import pickle
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest

from frontend.processes.offload import Offload
from frontend.processes.shared_memory import Attached, SharedBytes


def _read(shared: Attached) -> bytes:
    with shared.file() as file:
        return file.read()


def _fill(shared: Attached, value: int) -> None:
    shared.samples()[:] = value


@pytest.fixture
async def workers() -> AsyncIterator[Offload]:
    offload = Offload("tested", 1, tasks=100, seconds=30)
    yield offload
    await offload.close()


def _open_files() -> int:
    return sum("memfd:quartet" in os.readlink(link) for link in Path("/proc/self/fd").iterdir() if link.is_symlink())


async def test_a_process_reads_the_written_bytes(workers: Offload) -> None:
    shared = SharedBytes()
    for part in (b"one ", b"two"):
        shared.write(part)
    assert await workers.run(_read, shared.attached) == b"one two"
    shared.close()


async def test_a_process_that_cannot_write_files_writes_samples(workers: Offload) -> None:
    shared = SharedBytes(20_000)
    await workers.run(_fill, shared.attached, 7)
    assert np.frombuffer(shared.read(20_000), np.int16).tolist() == [7] * 10_000
    shared.close()


def test_a_range_of_bytes_can_be_read() -> None:
    shared = SharedBytes()
    shared.write(b"0123456789")
    assert shared.read(3, 4) == b"456"
    shared.close()


def test_shrinking_removes_the_bytes_after_the_size() -> None:
    shared = SharedBytes(1_000_000)
    shared.shrink(10)
    assert len(shared.read(100)) == shared.size == shared.attached.size == 10
    shared.close()


def test_the_last_use_that_ends_frees_the_memory() -> None:
    before = _open_files()
    shared = SharedBytes()
    with shared.use():
        shared.close()
        assert _open_files() == before + 1
        shared.write(b"still there")
    assert _open_files() == before


def test_freed_memory_cannot_be_used() -> None:
    shared = SharedBytes()
    shared.close()
    with pytest.raises(ValueError, match="given back"), shared.use():
        pass


def test_the_handle_for_a_process_is_small() -> None:
    shared = SharedBytes(10_000_000)
    assert len(pickle.dumps(shared.attached)) < 200
    shared.close()
