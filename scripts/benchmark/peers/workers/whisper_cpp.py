"""whisper.cpp, built for this processor: <file> <threads>. A task is a list of audio files."""

import ctypes
import sys
import sysconfig
from pathlib import Path

import soundfile
from line_server import serve

# A wheel that is built here does not find its own libraries.
for library in ("libggml-base.so", "libggml-cpu.so", "libggml.so", "libwhisper.so.1"):
    ctypes.CDLL(str(Path(sysconfig.get_path("platlib")) / library), mode=ctypes.RTLD_GLOBAL)

from pywhispercpp.model import Model  # noqa: E402

model = Model(sys.argv[1], n_threads=int(sys.argv[2]), language="en", temperature_inc=0.0, print_progress=False)


def work(files: list[str]) -> None:
    for file in files:
        samples, _ = soundfile.read(file, dtype="float32")
        model.transcribe(samples)


serve(work)
