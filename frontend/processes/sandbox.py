"""What a task process may do, and what its parent believes of its answers: the data that it reads may take it over."""

import ctypes
import dataclasses
import enum
import io
import os
import pickle
import resource
import struct
import sys
import sysconfig
from contextlib import suppress
from pathlib import Path
from typing import Any

_MEMORY_BYTES = 4 * 1024**3
_OPEN_FILES = 64
_PR_SET_NO_NEW_PRIVS = 38
# System calls of Landlock, and the number of its kinds of access to files by its version.
_CREATE, _ADD, _RESTRICT = 444, 445, 446
_KINDS = {1: 13, 2: 14, 3: 15, 4: 15}
_MOST_KINDS = 16
_READ_FILE, _READ_FOLDER = 1 << 2, 1 << 3
# To bind and connect by TCP, since version 4; to reach abstract sockets and processes outside, since version 6.
_NETWORK, _OUTSIDE = 3, 3
# What arrays are made of.
_OF_ARRAYS = {
    ("numpy", "dtype"),
    ("numpy", "ndarray"),
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy.core.multiarray", "scalar"),
    ("numpy.core.numeric", "_frombuffer"),
}


def restrict() -> None:
    """Limit this process for good: no core files, no file writes, bounded memory.

    Where the kernel has Landlock, it reads no files but Python's, reaches no TCP port, and looks into no process.
    """
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, 0)
    _limit(resource.RLIMIT_AS, _MEMORY_BYTES)
    _confine()
    _limit(resource.RLIMIT_NOFILE, _OPEN_FILES)


def _limit(kind: int, most: int) -> None:
    """Allow at most so much, or what the operator allows, if that is less: only root may raise it."""
    allowed = resource.getrlimit(kind)[1]
    least = most if allowed == resource.RLIM_INFINITY else min(most, allowed)
    resource.setrlimit(kind, (least, least))


def _confine() -> None:
    """Use Landlock as far as this kernel has it."""
    system = ctypes.CDLL(None)
    version = system.syscall(_CREATE, None, ctypes.c_size_t(0), 1)
    if version < 1:
        return
    kinds = (1 << _KINDS.get(version, _MOST_KINDS)) - 1
    rules = struct.pack("=QQQ", kinds, _NETWORK, _OUTSIDE)[: 24 if version >= 6 else 16 if version >= 4 else 8]
    ruleset = system.syscall(_CREATE, rules, ctypes.c_size_t(len(rules)), 0)
    if ruleset < 0:
        return
    for path in _readable():
        with suppress(OSError):
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
            allowed = _READ_FILE | (_READ_FOLDER if path.is_dir() else 0)
            system.syscall(_ADD, ruleset, 1, struct.pack("=Qi", allowed, place), 0)
            os.close(place)
    system.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    system.syscall(_RESTRICT, ruleset, 0)
    os.close(ruleset)


def _readable() -> set[Path]:
    """Where modules, and the data of packages, are."""
    folders = {*filter(None, sys.path), sys.base_prefix, *sysconfig.get_paths().values(), "/lib", "/lib64", "/usr/lib"}
    return {Path(folder).resolve() for folder in folders} - {Path("/")} | {Path(os.devnull)}


class _Answers(pickle.Unpickler):
    """Reads values, arrays, exceptions, enumerations, tuples and dataclasses. A pickle could call any function."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _OF_ARRAYS:
            return super().find_class(module, name)
        if module.partition(".")[0] in sys.modules:
            found = super().find_class(module, name)
            if isinstance(found, type) and (
                issubclass(found, (Exception, enum.Enum, tuple)) or dataclasses.is_dataclass(found)
            ):
                return found
        raise pickle.UnpicklingError(f"an answer with {module}.{name}")


def read_answer(answer: bytes) -> Any:
    """The value in an answer. Raises ``pickle.UnpicklingError`` for what is no value."""
    try:
        return _Answers(io.BytesIO(answer)).load()
    except pickle.UnpicklingError:
        raise
    except Exception as error:
        # Broken or false pickles raise anything.
        raise pickle.UnpicklingError("an answer that cannot be read") from error


def read_outcome(answer: bytes) -> tuple[Any, Exception | None]:
    """What a task returned and what it raised. Raises ``pickle.UnpicklingError`` for any other answer."""
    found = read_answer(answer)
    if not (isinstance(found, tuple) and len(found) == 2 and isinstance(found[1], Exception | None)):
        raise pickle.UnpicklingError("an answer that is no outcome")
    return found
