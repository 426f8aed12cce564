"""whisper.cpp, built for this processor: <file> <threads> <language> <one or several temperatures>.

A task is a list of audio files; the answer is their texts as JSON. With one temperature what was decoded stays.
"""

import ctypes
import json
import sys
import sysconfig
from pathlib import Path

import soundfile
from line_server import serve

# A wheel that is built here does not find its own libraries.
for library in ("libggml-base.so", "libggml-cpu.so", "libggml.so", "libwhisper.so.1"):
    ctypes.CDLL(str(Path(sysconfig.get_path("platlib")) / library), mode=ctypes.RTLD_GLOBAL)

from pywhispercpp.model import Model  # noqa: E402

file, threads, language, temperatures = sys.argv[1:]
options = {"temperature_inc": 0.0} if temperatures == "one" else {}
model = Model(file, n_threads=int(threads), language=language, print_progress=False, **options)


def _heard(file: str) -> dict[str, str]:
    samples, _ = soundfile.read(file, dtype="float32")
    return {"text": " ".join(segment.text for segment in model.transcribe(samples))}


def work(files: list[str]) -> str:
    return json.dumps([_heard(file) for file in files])


serve(work)
