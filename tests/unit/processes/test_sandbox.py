"""What a process may do that reads what strangers send, and which of its answers are believed."""

import ctypes
import os
import pickle
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytest_asyncio

from frontend.audio.prepare import Prepared, SpokenWindow
from frontend.errors import BadGateway, InvalidRequest
from frontend.processes.offload import Offload
from frontend.processes.sandbox import read_answer, read_outcome

_HAS_LANDLOCK = ctypes.CDLL(None).syscall(444, None, ctypes.c_size_t(0), 1) >= 6
in_one_loop = pytest.mark.asyncio(loop_scope="module")
with_landlock = pytest.mark.skipif(not _HAS_LANDLOCK, reason="this kernel has no Landlock, or an older one")


def _read(path: str) -> bytes:
    return Path(path).read_bytes()


def _connect(port: int) -> None:
    socket.create_connection(("127.0.0.1", port), 1).close()


def _signal(process: int) -> None:
    os.kill(process, 0)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pool() -> AsyncIterator[Offload]:
    started = Offload("tested", 1, tasks=100, seconds=10)
    yield started
    await started.close()


@in_one_loop
@with_landlock
@pytest.mark.parametrize(
    "path", ["/etc/passwd", "/proc/self/environ", "/proc/parent/environ", "/proc/parent/fd/0", "secret"]
)
async def test_a_process_reads_no_file_but_pythons(pool: Offload, tmp_path: Path, path: str) -> None:
    (tmp_path / "secret").write_text("secret")
    assert await pool.run(_read, os.__file__)
    with pytest.raises(PermissionError):
        await pool.run(_read, str(tmp_path / path.replace("parent", str(os.getpid()))))


@in_one_loop
@with_landlock
async def test_a_process_reaches_no_port_and_no_process(pool: Offload) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, pytest.raises(PermissionError):
        await pool.run(_connect, server.getsockname()[1])
    with pytest.raises(PermissionError):
        await pool.run(_signal, os.getpid())


_WINDOW = SpokenWindow(((0.0, 1.5),), 0, 100, 2.0)


@pytest.mark.parametrize("value", [None, {"a": [1, 2.5, "b"]}, {1, 2}, Prepared(2.0, [_WINDOW])], ids=repr)
def test_a_value_is_read_from_an_answer(value: object) -> None:
    assert read_answer(pickle.dumps((value, None))) == (value, None)


def test_an_array_is_read_from_an_answer() -> None:
    array, number = read_answer(pickle.dumps((np.arange(3, dtype=np.float32), np.float32(2))))
    assert (array.tolist(), array.dtype, number) == ([0, 1, 2], np.float32, 2)


def test_an_error_is_read_from_an_answer_with_its_notes() -> None:
    error = InvalidRequest("no", param="input")
    error.add_note("where")
    _, found = read_answer(pickle.dumps((None, error)))
    assert (type(found), str(found), found.param, found.__notes__) == (InvalidRequest, "no", "input", ["where"])


@pytest.mark.parametrize(
    "answer",
    [b"", b"nonsense", pickle.dumps(5), pickle.dumps((1, 2, 3)), pickle.dumps((None, "raised")), b"cfrontend\nx\n."],
    ids=["nothing", "no pickle", "a number", "three values", "an error that is none", "an unknown name"],
)
def test_what_is_no_value_and_no_error_is_no_outcome(answer: bytes) -> None:
    with pytest.raises(pickle.UnpicklingError):
        read_outcome(answer)


class _Calling:
    """Calls a function when it is read."""

    def __init__(self, function: Callable[..., Any], *given: object) -> None:
        self._call = function, given

    def __reduce__(self) -> Any:
        return self._call


@pytest.mark.parametrize(
    "function",
    [os.mkdir, os.system, partial, eval, Path, read_answer, SpokenWindow.times_of_file],
    ids=lambda function: function.__qualname__,
)
def test_a_function_in_an_answer_is_not_called(function: Callable[..., Any]) -> None:
    with pytest.raises(pickle.UnpicklingError, match="an answer with"):
        read_answer(pickle.dumps(_Calling(function, "x")))


@in_one_loop
async def test_a_process_whose_answer_calls_a_function_is_one_that_died(pool: Offload, tmp_path: Path) -> None:
    with pytest.raises(BadGateway):
        await pool.run(_Calling, os.mkdir, str(tmp_path / "made"))
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(("allowed", "expected"), [(2**30, 2**30), (2**40, 4 * 2**30)])
def test_a_limit_of_the_operator_is_not_raised(allowed: int, expected: int) -> None:
    code = (
        "import resource; from frontend.processes.sandbox import restrict; from unittest import mock\n"
        f"with mock.patch.object(resource, 'getrlimit', return_value=({allowed}, {allowed})):\n    restrict()\n"
        "print(resource.getrlimit(resource.RLIMIT_AS)[1])"
    )
    printed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert int(printed) == expected
