"""The GPU as CUDA's driver tells of it: needs neither a toolkit nor nvidia-smi, and heeds CUDA_VISIBLE_DEVICES."""

import ctypes
import re
from pathlib import Path
from typing import Any

LIBRARY = "libcuda.so.1"
_VERSION = Path("/proc/driver/nvidia/version")
# CUdevice_attribute in cuda.h.
_MULTIPROCESSORS, _MAJOR, _MINOR = 16, 75, 76
_NAME_BYTES = 256


class NoCardError(Exception):
    """There is no GPU to work on, and why."""


class Card:
    """The first GPU that CUDA shows to this process; holds a context on it, as everything that works there does."""

    def __init__(self, library: str = LIBRARY) -> None:
        """``NoCardError`` where there is no driver, or no GPU behind it."""
        try:
            self._cuda = ctypes.CDLL(library)
        except OSError as error:
            raise NoCardError(f"no NVIDIA driver: {LIBRARY} cannot be loaded") from error
        self._call("cuInit", 0)
        self._device = self._number("cuDeviceGet", 0)
        self._context = ctypes.c_void_p()
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(self._context), self._device)

    def _call(self, function: str, *arguments: Any) -> None:
        if result := getattr(self._cuda, function)(*arguments):
            text = ctypes.c_char_p()
            self._cuda.cuGetErrorString(result, ctypes.byref(text))
            raise NoCardError(f"no NVIDIA GPU: {function}: {(text.value or b'error %d' % result).decode()}")

    def _number(self, function: str, *arguments: int) -> int:
        """What a function with an ``int *`` before its other arguments puts there."""
        number = ctypes.c_int()
        self._call(function, ctypes.byref(number), *arguments)
        return number.value

    @property
    def name(self) -> str:
        name = ctypes.create_string_buffer(_NAME_BYTES)
        self._call("cuDeviceGetName", name, _NAME_BYTES, self._device)
        return name.value.decode()

    @property
    def capability(self) -> str:
        """The compute capability, like 9.0."""
        return ".".join(str(self._number("cuDeviceGetAttribute", which, self._device)) for which in (_MAJOR, _MINOR))

    @property
    def multiprocessors(self) -> int:
        return self._number("cuDeviceGetAttribute", _MULTIPROCESSORS, self._device)

    @property
    def cuda(self) -> str:
        """The newest CUDA that the driver runs, like 13.0."""
        version = self._number("cuDriverGetVersion")
        return f"{version // 1000}.{version % 1000 // 10}"

    def memory(self) -> tuple[int, int]:
        """Bytes of the card's memory: those taken, by anybody, and all."""
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self._call("cuCtxPushCurrent_v2", self._context)
        try:
            self._call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        finally:
            self._call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))
        return total.value - free.value, total.value


def driver(path: Path = _VERSION) -> str:
    """The version of the kernel's driver, or ``-`` where it does not tell."""
    found = re.search(r"\b\d+\.\d+(\.\d+)?\b", path.read_text(encoding="ascii")) if path.is_file() else None
    return found.group() if found else "-"
