"""Threads of a frontend share the memory that they free."""

import subprocess
import sys

_ARENAS = """
import ctypes, sys, threading

from frontend.http.server import share_arenas

if sys.argv[1] == "shared":
    share_arenas()
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
threads = [threading.Thread(target=lambda: (libc.malloc(1000), barrier.wait())) for _ in range(8)]
barrier = threading.Barrier(len(threads))
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
libc.fopen.restype, libc.fopen.argtypes = ctypes.c_void_p, (ctypes.c_char_p, ctypes.c_char_p)
libc.malloc_info.argtypes, libc.fclose.argtypes = (ctypes.c_int, ctypes.c_void_p), (ctypes.c_void_p,)
file = libc.fopen(b"/dev/stdout", b"w")
libc.malloc_info(0, file)
libc.fclose(file)
"""


def _arenas(how: str) -> int:
    done = subprocess.run([sys.executable, "-c", _ARENAS, how], capture_output=True, text=True, check=True)
    return done.stdout.count("<heap nr=")


def test_threads_share_an_arena() -> None:
    assert _arenas("shared") == 1


def test_without_that_each_has_its_own() -> None:
    assert _arenas("own") > 1
