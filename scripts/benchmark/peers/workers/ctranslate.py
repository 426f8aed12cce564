"""CTranslate2 in process, in the order that is best on a CPU: <model> <compute type> <threads> <windows together>.

A task is a list of audio files. Each is cut every 30 s; windows are encoded one by one, with our features, and decoded
together.
"""

import sys
from pathlib import Path

import ctranslate2
import numpy as np
import soundfile
from line_server import serve

from scripts.export_models.whisper.served import recognizer_module

_PROMPT = ["<|startoftranscript|>", "<|en|>", "<|transcribe|>"]
_WINDOW = 30 * 16_000

folder, compute_type, threads, together = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
log_mel = recognizer_module().LogMel(128)
model = ctranslate2.models.Whisper(folder, device="cpu", compute_type=compute_type, intra_threads=threads)


def _windows(file: str) -> list[np.ndarray]:
    samples, _ = soundfile.read(Path(file), dtype="float32")
    return [samples[start : start + _WINDOW] for start in range(0, len(samples), _WINDOW)]


def _encoded(samples: np.ndarray) -> np.ndarray:
    features = log_mel(samples, _WINDOW)[None]
    return np.asarray(model.encode(ctranslate2.StorageView.from_array(features)))


def work(files: list[str]) -> None:
    windows = [window for file in files for window in _windows(file)]
    for start in range(0, len(windows), together):
        encoded = np.concatenate([_encoded(window) for window in windows[start : start + together]])
        model.generate(ctranslate2.StorageView.from_array(encoded), [_PROMPT] * len(encoded), beam_size=1)


serve(work)
