"""Exports Kokoro: its graph for OpenVINO, and a style and a sample of each voice.

``voices.json`` has the sample rate, the flags of processors that are fast at int8, the ids of the symbols, and for each
voice its voice of espeak-ng and its accent.
"""

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from frontend.catalogue.kokoro import Speaker
from frontend.text.alphabets import KokoroAlphabet
from scripts.export_models.checkpoints import KOKORO_GRAPH
from scripts.export_models.kokoro import checks, graph
from scripts.export_models.kokoro.styles import ROWS, WIDTH
from scripts.export_models.parity import Check
from scripts.export_models.precisions import FAST_INT8, int8_is_fast
from scripts.export_models.progress import SILENT, Progress
from scripts.export_models.triton_code import triton_module
from scripts.export_models.voices import sample
from scripts.export_models.ways import Way
from scripts.machine import processors

SAMPLE_RATE = 24_000
Style = NDArray[np.float32]
_SYMBOLS = Path(__file__).with_name("symbols.json")


def ways(
    name: str, source: Path, target: Path, styles: Mapping[Speaker, Path], progress: Progress = SILENT
) -> list[Way]:
    """The ways to write Kokoro, whose graph is in the folder ``source``, into ``target``, with a file of each style."""
    rows = {speaker: np.fromfile(path, "<f4").reshape(ROWS, WIDTH) for speaker, path in styles.items()}
    vocabulary = json.loads(_SYMBOLS.read_text(encoding="utf-8"))

    def export(*, int8: bool) -> list[Check]:
        model = onnx.load(source / KOKORO_GRAPH)
        graph.rewrite(model, progress, int8=int8)
        graph.write(model, target)
        del model
        progress.step("speaking samples", 0, 1)
        _write_voices(target, rows, vocabulary)
        return checks.compare(name, source / KOKORO_GRAPH, target, vocabulary, [*rows.values()])

    found = [Way("float", lambda: export(int8=False))]
    return [Way("int8", lambda: export(int8=True)), *found] if int8_is_fast() else found


def _write_voices(target: Path, rows: Mapping[Speaker, Style], vocabulary: Mapping[str, int]) -> None:
    for path in (*target.glob("*.npy"), *target.glob("*.wav")):
        path.unlink()
    ids = {symbol: [number] for symbol, number in vocabulary.items()}
    voices = {each.voice.name: {"espeak": each.espeak_voice, "accent": each.accent} for each in rows}
    flags = sorted(FAST_INT8)
    description = {"sample_rate": SAMPLE_RATE, "processor_flags": flags, "ids": ids, "voices": voices}
    (target / "voices.json").write_text(json.dumps(description, ensure_ascii=False), encoding="utf-8")
    model = triton_module("kokoro", "speaker").Speaker(target, processors())
    for speaker, style in rows.items():
        np.save(target / f"{speaker.voice.name}.npy", style)
        alphabet = KokoroAlphabet(speaker.voice.language, speaker.espeak_voice, ids)
        speak = partial(_spoken, model, style)
        sample.write(target / f"{speaker.voice.name}.wav", alphabet, SAMPLE_RATE, speak)


def _spoken(model: Any, style: Style, ids: list[int]) -> Any:
    """The samples of a sentence. The inputs are those of the frontend."""
    return model.speak(np.array(ids, np.int64), style[len(ids) - 3], np.ones(1, np.float32))
