"""Exports Kokoro: its graph for OpenVINO, and a style and a sample of each voice.

``voices.json`` has the sample rate, the flags of processors that are fast at int8, the ids of the symbols, and for each
voice its voice of espeak-ng and its accent.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import onnx
import onnxruntime as ort
import openvino as ov
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from frontend.catalogue.kokoro import Speaker
from frontend.text.alphabets import KokoroAlphabet
from scripts.export_models import voice_sample
from scripts.export_models.checkpoints import KOKORO_GRAPH
from scripts.export_models.kokoro.passes import rewrite
from scripts.export_models.kokoro.source import PRECISE
from scripts.export_models.kokoro.styles import ROWS, WIDTH
from scripts.export_models.parity import Check
from scripts.export_models.precisions import FAST_INT8, int8_is_fast
from scripts.export_models.progress import SILENT, Progress
from scripts.export_models.triton_code import triton_module
from scripts.machine import processors

SAMPLE_RATE = 24_000
_SYMBOLS = Path(__file__).with_name("symbols.json")
FILE = "kokoro.xml"
# Smaller tensors stay as they are: there are constants among them that half precision does not hold.
_LEAST_SIZE = 10_000
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


def ways() -> list[str]:
    """The ways to export Kokoro, the best first."""
    return ["int8", "float"] if int8_is_fast() else ["float"]


def export(
    name: str, source: Path, target: Path, way: str, styles: Mapping[Speaker, Path], progress: Progress = SILENT
) -> list[Check]:
    """Write Kokoro, whose graph is in the folder ``source``, into ``target``, with a file of each style."""
    rows = {speaker: np.fromfile(path, "<f4").reshape(ROWS, WIDTH) for speaker, path in styles.items()}
    vocabulary = json.loads(_SYMBOLS.read_text(encoding="utf-8"))
    model = onnx.load(source / KOKORO_GRAPH)
    rewrite(model, progress, int8=way == "int8")
    write(model, target)
    del model
    progress.step("speaking samples", 0, 1)
    _write_voices(target, rows, vocabulary)
    return compare(name, source / KOKORO_GRAPH, target, vocabulary, [*rows.values()])


def _write_voices(target: Path, rows: Mapping[Speaker, Array], vocabulary: Mapping[str, int]) -> None:
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
        voice_sample.write(target / f"{speaker.voice.name}.wav", alphabet, SAMPLE_RATE, speak)


def _spoken(model: Any, style: Array, ids: list[int]) -> Any:
    """The samples of a sentence. The inputs are those of the frontend."""
    return model.speak(np.array(ids, np.int64), style[len(ids) - 3], np.ones(1, np.float32))


# The files for OpenVINO


def write(model: onnx.ModelProto, folder: Path) -> None:
    """Write a rewritten graph as ``kokoro.xml`` and ``kokoro.bin``; its large weights are in half precision afterwards.

    The published weights are 8 bits times a scale, so half precision loses a thousandth of a step. The files have 164
    MB instead of 325. A note says what must stay in float32.
    """
    folder.mkdir(parents=True, exist_ok=True)
    halve(model)
    path = folder / FILE
    ov.save_model(ov.Core().read_model(model.SerializeToString()), path, compress_to_fp16=False)
    tree = ElementTree.parse(path)
    for layer in tree.iter("layer"):
        if layer.get("name", "").startswith(PRECISE) and layer.get("type") != "Const":
            _note(layer)
    tree.write(path)


def halve(model: onnx.ModelProto) -> None:
    """Keep large weights in half precision, in place; nodes read them as float32."""
    casts = []
    for weight in model.graph.initializer:
        if weight.data_type == TensorProto.FLOAT and np.prod(weight.dims) >= _LEAST_SIZE:
            name = weight.name
            weight.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(weight).astype(np.float16), f"{name}_half"))
            casts.append(helper.make_node("Cast", [weight.name], [name], name, to=TensorProto.FLOAT))
    nodes = [*casts, *model.graph.node]
    del model.graph.node[:]
    model.graph.node.extend(nodes)


def _note(layer: ElementTree.Element) -> None:
    """Let OpenVINO compute a layer in float32. Its Python interface has no name for this."""
    notes = layer.find("rt_info")
    if notes is None:
        notes = ElementTree.Element("rt_info")
        layer.insert(1 if layer.find("data") is not None else 0, notes)
    ElementTree.SubElement(notes, "attribute", name="precise", version="0")


# The comparison with the published graph


def compare(
    name: str, published: Path, folder: Path, vocabulary: Mapping[str, int], voices: Sequence[Array]
) -> list[Check]:
    """The largest differences of three sentences between the ``published`` graph and the files in ``folder``.

    They are spoken by the ``voices`` in turn, each FP32 [510, 256]. The two never give the same samples: rounding
    changes the pitch by a fraction, and so all later phases. So the loudness of bands of frequencies is compared, along
    the path in time on which they agree best: a phoneme may be a frame longer. Rounding alone makes a difference of
    0.06 to 0.12 bels. A wave of the wrong sign in the activations makes 2, exchanged scales and shifts of one norm 0.3,
    and other phases in silent bins 0.2.
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
    edges = 700 * (np.geomspace(1, 1 + SAMPLE_RATE / 2 / 700, _BANDS + 2) - 1) * _WINDOW / SAMPLE_RATE
    bins, (low, middle, high) = np.arange(power.shape[1])[:, None], (edges[:-2], edges[1:-1], edges[2:])
    rising, falling = (bins - low) / (middle - low), (high - bins) / (high - middle)
    triangles = np.maximum(0, np.minimum(rising, falling))
    return np.log10(np.maximum(power @ triangles, 10**_FLOOR)).astype(np.float32)
