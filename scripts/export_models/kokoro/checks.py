"""Compares the sound of the files for OpenVINO with that of the published graph.

The two never give the same samples: rounding changes the pitch by a fraction, and so all later phases. So the loudness
of bands of frequencies is compared, along the path in time on which they agree best: a phoneme may be a frame longer.
Rounding alone makes a difference of 0.06 to 0.12 bels. A wave of the wrong sign in the activations makes 2, exchanged
scales and shifts of one norm 0.3, and other phases in silent bins 0.2.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
import openvino as ov
from numpy.typing import NDArray

from scripts.export_models.kokoro.writing import FILE
from scripts.export_models.parity import Check

RATE = 24_000
# Phonemes of short sentences: "Good morning.", "Where is the station?" and "Thank you very much."
_SENTENCES = ("ɡˈʊd mˈɔɹnɪŋ.", "wˌɛɹ ɪz ðə stˈAʃən?", "θˈæŋk ju vˈɛɹi mˈʌʧ.")
# The most bels, and the most of the length, by which a sentence may differ. A frame is a fiftieth of a sentence.
_LARGEST_DIFFERENCE, _LARGEST_STRETCH = 0.15, 0.05
_WINDOW, _STEP, _BANDS = 1024, 300, 40
# Less power than this is silence, as a power of ten.
_FLOOR = -4.0

Array = NDArray[np.float32]
Inputs = dict[str, NDArray[Any]]
Infer = Callable[[Inputs], Array]


def compare(
    name: str, published: Path, folder: Path, vocabulary: Mapping[str, int], voices: Sequence[Array]
) -> list[Check]:
    """The largest differences of three sentences between the ``published`` graph and the files in ``folder``.

    They are spoken by the ``voices`` in turn, each FP32 [510, 256].
    """
    spoken = [_inputs(text, vocabulary, voices[at % len(voices)]) for at, text in enumerate(_SENTENCES)]
    wanted, got = _published(published), _written(folder)
    pairs = [(wanted(inputs), got(inputs)) for inputs in spoken]
    bels = max(difference(*pair) for pair in pairs)
    stretch = max(abs(len(one) - len(other)) / len(one) for one, other in pairs)
    return [
        Check(name, "bands of three sentences, in bels", bels, _LARGEST_DIFFERENCE),
        Check(name, "lengths of three sentences", stretch, _LARGEST_STRETCH),
    ]


def _inputs(text: str, vocabulary: Mapping[str, int], voice: Array) -> Inputs:
    tokens = [vocabulary[sign] for sign in text]
    style = voice[len(tokens) - 1][None]
    return {"tokens": np.array([[0, *tokens, 0]]), "style": style, "speed": np.ones(1, np.float32)}


def _published(model: Path) -> Infer:
    session = ort.InferenceSession(str(model), providers=["CPUExecutionProvider"])

    def infer(inputs: Inputs) -> Array:
        sound: Array = session.run(None, inputs)[0]
        return sound

    return infer


def _written(folder: Path) -> Infer:
    model = ov.Core().compile_model(folder / FILE, "CPU", {"PERFORMANCE_HINT": "LATENCY"})

    def infer(inputs: Inputs) -> Array:
        sound: Array = np.array(model(inputs)[0])
        return sound

    return infer


def difference(one: Array, other: Array) -> float:
    """The mean difference of two sounds' bands in bels, along the path on which they agree best."""
    first, second = _bands(one), _bands(other)
    costs = np.abs(first[:, None] - second[None]).mean(axis=2)
    return _path(costs) / max(len(first), len(second))


def _path(costs: Array) -> float:
    """The least sum of costs from the first corner to the last one, in steps ahead in one or both directions."""
    row = np.cumsum(costs[0])
    for line in costs[1:]:
        before, row = row, np.empty_like(row)
        row[0] = before[0] + line[0]
        for at in range(1, len(line)):
            row[at] = line[at] + min(before[at], before[at - 1], row[at - 1])
    return float(row[-1])


def _bands(sound: Array) -> Array:
    """The logarithms of the power of each step's bands, which are as wide as the ear's: [steps, bands]."""
    padded = np.pad(sound, _WINDOW // 2)
    windows = np.lib.stride_tricks.sliding_window_view(padded, _WINDOW)[::_STEP] * np.hanning(_WINDOW)
    power = np.abs(np.fft.rfft(windows)) ** 2
    edges = 700 * (np.geomspace(1, 1 + RATE / 2 / 700, _BANDS + 2) - 1) * _WINDOW / RATE
    bins, (low, middle, high) = np.arange(power.shape[1])[:, None], (edges[:-2], edges[1:-1], edges[2:])
    rising, falling = (bins - low) / (middle - low), (high - bins) / (high - middle)
    triangles = np.maximum(0, np.minimum(rising, falling))
    return np.log10(np.maximum(power @ triangles, 10**_FLOOR)).astype(np.float32)
