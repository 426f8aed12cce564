"""The six demo voices: diphones of espeak-ng inside an ONNX graph with Piper's tensors and JSON.

    python -m scripts.export_models.demo.voices OUTPUT_FOLDER [--voice amy]

The graph has Piper's inputs ``input`` INT64 [1, ids], ``input_lengths`` INT64 [1], ``scales`` FP32 [3] (taken,
without effect: these voices have one way to speak) and the output FP32 [1, 1, 1, samples].
"""

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import soxr
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from piper.phoneme_ids import DEFAULT_PHONEME_ID_MAP

from scripts.export_models.demo.espeak import Espeak, Utterance
from scripts.export_models.demo.sentences import sentences
from scripts.export_models.demo.units import SILENCE, Diphone, choose, cut, is_modifier

_IDS = 256
_PAUSE_SECONDS = 0.08
_SILENT_SYMBOLS = "^$.,:;!?"
_CORPUS_SEED = 11
_CORPUS_SENTENCES = 260
_NONE = -1
# Symbols that Piper's phonemizer writes and espeak's events spell in another way.
_EQUIVALENTS = {"ɾ": "r", "r": "ɾ", "ɐ": "ə", "ɚ": "ə", "ɫ": "l", "ʌ": "ə", "ɔ": "o", "ɛ": "e", "ʏ": "y"}
_SYLLABLES = {
    "en": ["b", "d", "f", "g", "h", "k", "l", "m", "n", "p", "r", "s", "sh", "t", "th", "v", "w", "y", "z"],
    "de": ["b", "d", "f", "g", "h", "k", "l", "m", "n", "p", "r", "s", "sch", "t", "w", "z", "pf", "j"],
    "fr": ["b", "d", "f", "g", "ch", "k", "l", "m", "n", "p", "r", "s", "t", "v", "z", "gn", "j"],
    "it": ["b", "d", "f", "g", "gh", "c", "l", "m", "n", "p", "r", "s", "t", "v", "z", "gn", "sc"],
}
_VOWELS = {
    "en": ["a", "ee", "oo", "i", "o", "u", "ay", "ow"],
    "de": ["a", "e", "i", "o", "u", "ä", "ö", "ü", "ei", "au", "eu"],
    "fr": ["a", "é", "i", "o", "ou", "u", "eu", "an", "on", "in", "oi"],
    "it": ["a", "e", "i", "o", "u", "ia", "io"],
}


@dataclass(frozen=True)
class DemoVoice:
    """One voice: its espeak-ng variant, pitch (0 to 100), rate (words a minute), sample rate (hertz)."""

    name: str
    language: str
    espeak_voice: str
    variant: str
    pitch: int
    rate: int
    sample_rate: int


VOICES = (
    DemoVoice("paola", "it", "it", "f2", 60, 150, 22050),
    DemoVoice("riccardo", "it", "it", "m3", 38, 155, 16000),
    DemoVoice("amy", "en", "en-us", "f3", 58, 150, 22050),
    DemoVoice("ryan", "en", "en-us", "m2", 36, 155, 22050),
    DemoVoice("thorsten", "de", "de", "m3", 34, 145, 22050),
    DemoVoice("siwis", "fr", "fr", "f4", 62, 150, 22050),
)


def _corpus(language: str) -> list[str]:
    """Text with nearly every pair of sounds of a language: sentences, then made-up words."""
    lines = list(sentences(language, _CORPUS_SEED, _CORPUS_SENTENCES))
    vowels = _VOWELS[language]
    for index, onset in enumerate(_SYLLABLES[language]):
        words = [
            onset + vowel + _SYLLABLES[language][(index + step) % len(_SYLLABLES[language])] + "a"
            for step, vowel in enumerate(vowels)
        ]
        lines.append(" ".join(words))
    return lines


def _pitch_period(samples: NDArray[np.int16], sample_rate: int) -> int:
    """The pitch period in samples, from the highest peak of the autocorrelation (70 to 350 Hz)."""
    window = samples[: 4 * sample_rate].astype(np.float64)
    spectrum = np.abs(np.fft.rfft(window, 2 * len(window))) ** 2
    correlation = np.fft.irfft(spectrum)
    low, high = sample_rate // 350, sample_rate // 70
    return low + int(correlation[low:high].argmax())


def _record(espeak: Espeak, voice: DemoVoice) -> tuple[dict[tuple[str, str], Diphone], int]:
    """The chosen diphones of a voice at its own sample rate, and its pitch period in samples."""
    found = []
    period = 0
    scale = voice.sample_rate / espeak.sample_rate
    for text in _corpus(voice.language):
        spoken = espeak.speak(
            text, f"{voice.espeak_voice}+{voice.variant}", rate=voice.rate, pitch=voice.pitch, pitch_range=0
        )
        if scale != 1:
            resampled = soxr.resample(spoken.samples, espeak.sample_rate, voice.sample_rate)
            phones = [type(p)(p.name, int(p.start * scale), int(p.end * scale)) for p in spoken.phones]
            spoken = Utterance(resampled, phones)
        period = period or _pitch_period(spoken.samples, voice.sample_rate)
        found += list(cut(spoken, period, voice.sample_rate))
    return choose(found), period


@dataclass
class _Pool:
    """Sound units in one constant: unit ``i`` is ``starts[i] : starts[i] + lengths[i]`` and a tail to fade."""

    classes: list[str]
    sound: NDArray[np.int16]
    starts: list[int]
    lengths: list[int]
    pairs: NDArray[np.int64]


def _pool(diphones: dict[tuple[str, str], Diphone], fade: int, sample_rate: int) -> _Pool:
    """Lay the diphones end to end; a pair that was never recorded is joined from two half phonemes."""
    classes = [SILENCE, *sorted({symbol for pair in diphones for symbol in pair} - {SILENCE})]
    number = {symbol: index for index, symbol in enumerate(classes)}
    pause = int(_PAUSE_SECONDS * sample_rate)
    sound = [np.zeros(pause + fade, np.int16)]
    starts, lengths = [0], [pause]
    size = len(classes)
    pairs = np.full((size, size, 2), _NONE, np.int64)
    pairs[0, 0, 0] = 0
    position = pause + fade
    halves: dict[str, dict[int, tuple[int, int]]] = {"left": {}, "right": {}}
    for (left, right), diphone in diphones.items():
        if left == right == SILENCE:
            continue
        sound.append(diphone.source[diphone.start : diphone.end + fade])
        a, b = number[left], number[right]
        pairs[a, b, 0] = len(starts)
        starts.append(position)
        lengths.append(diphone.length)
        half = diphone.length // 2
        halves["left"].setdefault(a, (position, half))
        halves["right"].setdefault(b, (position + half, diphone.length - half))
        position += len(sound[-1])
    unrecorded = pairs[:, :, 0] == _NONE
    for side, index in (("left", 0), ("right", 1)):
        unit_of = np.full(size, _NONE, np.int64)
        for symbol, (start, length) in halves[side].items():
            unit_of[symbol] = len(starts)
            starts.append(start)
            lengths.append(length)
        row_or_column = unit_of[:, None] if side == "left" else unit_of[None, :]
        pairs[:, :, index] = np.where(unrecorded, row_or_column, pairs[:, :, index])
    return _Pool(classes, np.concatenate(sound), starts, lengths, pairs)


def _symbol_tables(classes: list[str]) -> dict[str, NDArray[np.int64]]:
    """Lookups by phoneme id: what to keep, what modifies its neighbour, and the class of (id, next id)."""
    number = {symbol: index for index, symbol in enumerate(classes)}
    keep = np.zeros(_IDS, np.int64)
    modifies = np.zeros(_IDS, np.int64)
    class_of = np.zeros((_IDS, _IDS), np.int64)
    ids = {s: group[0] for s, group in DEFAULT_PHONEME_ID_MAP.items() if len(s) == 1}
    modifiers = {symbol: key for symbol, key in ids.items() if is_modifier(symbol)}
    for symbol, key in modifiers.items():
        if any(symbol in name for name in classes):
            keep[key] = modifies[key] = 1
    for symbol, key in ids.items():
        base = number.get(symbol)
        if base is None:
            base = number.get(_EQUIVALENTS.get(symbol, ""))
        if base is None:
            long = [name for name in classes if name[0] == symbol]
            base = number[long[0]] if long else None
        if symbol in _SILENT_SYMBOLS:
            base = 0
        if base is None or symbol in modifiers:
            continue
        keep[key] = 1
        class_of[key, :] = base
        for modifier, modifier_key in modifiers.items():
            class_of[key, modifier_key] = number.get(symbol + modifier, base)
    return {"keep": keep, "modifies": modifies, "class_of": class_of.reshape(-1)}


def _mu_law(sound: NDArray[np.int16]) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """8-bit mu-law codes (ITU-T G.711's curve) of the sound at full scale, and the table that decodes them."""
    mu = 255.0
    x = sound.astype(np.float64) / max(1, int(np.abs(sound).max()))
    codes = np.round((np.sign(x) * np.log1p(mu * np.abs(x)) / np.log1p(mu) + 1) * 127.5)
    y = np.arange(256) / 127.5 - 1
    table = np.sign(y) * np.expm1(np.abs(y) * np.log1p(mu)) / mu
    # The code of silence must decode to exactly nothing.
    table[int(np.round(127.5))] = 0.0
    return codes.astype(np.uint8), (0.9 * table).astype(np.float32)


def build_graph(pool: _Pool, fade: int) -> onnx.ModelProto:
    """The synthesis graph: ids to classes, classes to units, units laid end to end with a linear cross-fade."""
    codes, decode = _mu_law(pool.sound)
    constants: dict[str, NDArray[Any]] = {
        **_symbol_tables(pool.classes),
        "pairs": pool.pairs.reshape(-1, 2),
        "starts": np.array(pool.starts, np.int64),
        "lengths": np.array(pool.lengths, np.int64),
        "codes": codes,
        "decode": decode,
        "class_count": np.array(len(pool.classes), np.int64),
        "id_count": np.array(_IDS, np.int64),
        "last_id": np.array(_IDS - 1, np.int64),
        "fade": np.array(fade, np.float32),
        "last_faded": np.array(fade - 1, np.int64),
        "zero": np.array(0, np.int64),
        "one": np.array(1, np.int64),
        "zeros": np.zeros(1, np.int64),
        "ones": np.ones(1, np.int64),
        "minus_ones": np.full(1, -1, np.int64),
        "many": np.full(1, np.iinfo(np.int64).max, np.int64),
        "no_sound": np.array(0, np.float32),
        "full_sound": np.array(1, np.float32),
        "half_sample": np.array(0.5, np.float32),
        "last_axes": np.array([1, -1], np.int64),
    }
    nodes: list[onnx.NodeProto] = []

    def op(kind: str, inputs: list[str], output: str, **attributes: Any) -> str:
        nodes.append(helper.make_node(kind, inputs, [output], name=output, **attributes))
        return output

    def compress(values: str, flags: str, output: str) -> str:
        op("Cast", [flags], f"{output}_mask", to=TensorProto.BOOL)
        return op("Compress", [values, f"{output}_mask"], output, axis=0)

    op("Reshape", ["input", "minus_ones"], "flat")
    op("Slice", ["flat", "zeros", "input_lengths", "zeros"], "given")
    op("Max", ["given", "zero"], "not_negative")
    op("Min", ["not_negative", "last_id"], "ids")
    op("Gather", ["keep", "ids"], "kept")
    compress("ids", "kept", "symbols")
    op("Slice", ["symbols", "ones", "many", "zeros"], "followers")
    op("Concat", ["followers", "zeros"], "next", axis=0)
    op("Mul", ["symbols", "id_count"], "row")
    op("Add", ["row", "next"], "cell")
    op("Gather", ["class_of", "cell"], "marked_classes")
    op("Gather", ["modifies", "symbols"], "modifier")
    op("Sub", ["one", "modifier"], "not_modifier")
    compress("marked_classes", "not_modifier", "phones")
    op("Concat", ["zeros", "phones", "zeros"], "classes", axis=0)
    op("Slice", ["classes", "zeros", "minus_ones", "zeros"], "left")
    op("Slice", ["classes", "ones", "many", "zeros"], "right")
    op("Mul", ["left", "class_count"], "left_row")
    op("Add", ["left_row", "right"], "pair")
    op("Gather", ["pairs", "pair"], "pair_units", axis=0)
    op("Reshape", ["pair_units", "minus_ones"], "all_units")
    op("GreaterOrEqual", ["all_units", "zero"], "is_unit")
    op("Compress", ["all_units", "is_unit"], "units", axis=0)
    op("Gather", ["starts", "units"], "unit_starts")
    op("Gather", ["lengths", "units"], "unit_lengths")
    op("CumSum", ["unit_lengths", "zero"], "unit_ends")
    op("Sub", ["unit_ends", "unit_lengths"], "unit_begins")
    op("Gather", ["unit_ends", "minus_ones"], "total")
    op("ConstantOfShape", ["total"], "blank", value=helper.make_tensor("v", TensorProto.INT64, [1], [0]))
    op("Slice", ["unit_begins", "ones", "many", "zeros"], "later_begins")
    op("Shape", ["later_begins"], "later_shape")
    op("ConstantOfShape", ["later_shape"], "steps", value=helper.make_tensor("v", TensorProto.INT64, [1], [1]))
    op("ScatterElements", ["blank", "later_begins", "steps"], "edges", axis=0, reduction="add")
    op("CumSum", ["edges", "zero"], "unit_of_sample")
    op("Squeeze", ["total"], "sample_count")
    op("Range", ["zero", "sample_count", "one"], "time")
    op("Gather", ["unit_begins", "unit_of_sample"], "begin_of_sample")
    op("Sub", ["time", "begin_of_sample"], "offset")
    op("Gather", ["unit_starts", "unit_of_sample"], "start_of_sample")
    op("Add", ["start_of_sample", "offset"], "address")
    op("Sub", ["unit_of_sample", "one"], "before")
    op("Max", ["before", "zero"], "previous")
    op("Gather", ["unit_starts", "previous"], "previous_start")
    op("Gather", ["unit_lengths", "previous"], "previous_length")
    op("Add", ["previous_start", "previous_length"], "previous_end")
    op("Min", ["offset", "last_faded"], "tail_offset")
    op("Add", ["previous_end", "tail_offset"], "tail_address")
    for source, name in (("address", "body"), ("tail_address", "tail")):
        op("Gather", ["codes", source], f"{name}_codes")
        op("Cast", [f"{name}_codes"], f"{name}_index", to=TensorProto.INT64)
        op("Gather", ["decode", f"{name}_index"], name)
    op("Cast", ["offset"], "offset_real", to=TensorProto.FLOAT)
    op("Add", ["offset_real", "half_sample"], "offset_middle")
    op("Div", ["offset_middle", "fade"], "ramp")
    op("Clip", ["ramp", "no_sound", "full_sound"], "gain")
    op("Sub", ["body", "tail"], "difference")
    op("Mul", ["difference", "gain"], "faded")
    op("Add", ["tail", "faded"], "speech")
    # Piper's own files declare the two first axes free, and Triton wants the very same shape.
    op("Shape", ["input_lengths"], "batch")
    op("GreaterOrEqual", ["input_lengths", "zero"], "has_length")
    op("Cast", ["has_length"], "one_channel", to=TensorProto.INT64)
    op("Concat", ["batch", "one_channel", "last_axes"], "shape", axis=0)
    op("Reshape", ["speech", "shape"], "output")

    graph = helper.make_graph(
        nodes,
        "demo_voice",
        [
            helper.make_tensor_value_info("input", TensorProto.INT64, ["batch_size", "phonemes"]),
            helper.make_tensor_value_info("input_lengths", TensorProto.INT64, ["batch_size"]),
            helper.make_tensor_value_info("scales", TensorProto.FLOAT, [3]),
        ],
        [helper.make_tensor_value_info("output", TensorProto.FLOAT, ["batch_size", "time", 1, "samples"])],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    return model


def _config(voice: DemoVoice) -> dict[str, Any]:
    """The ``.onnx.json`` of a voice, with the keys that Piper's own files have."""
    return {
        "audio": {"sample_rate": voice.sample_rate, "quality": "demo"},
        "espeak": {"voice": voice.espeak_voice},
        "language": {"code": voice.language},
        "inference": {"noise_scale": 0.0, "length_scale": 1.0, "noise_w": 0.0},
        "phoneme_type": "espeak",
        "phoneme_map": {},
        "phoneme_id_map": DEFAULT_PHONEME_ID_MAP,
        "num_symbols": _IDS,
        "num_speakers": 1,
        "speaker_id_map": {},
    }


def build(voice: DemoVoice, espeak: Espeak, folder: Path, name: str | None = None) -> Path:
    """Write ``<name>.onnx`` and ``<name>.onnx.json`` into ``folder`` and return the model's path."""
    diphones, period = _record(espeak, voice)
    model = build_graph(_pool(diphones, period, voice.sample_rate), period)
    path = folder / f"{name or voice.name}.onnx"
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, str(path))
    config = json.dumps(_config(voice), ensure_ascii=False, indent=1)
    path.with_name(f"{path.name}.json").write_text(config, encoding="utf-8")
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the demo voices.")
    parser.add_argument("output", type=Path)
    parser.add_argument("--voice", choices=[voice.name for voice in VOICES], action="append")
    arguments = parser.parse_args()
    espeak = Espeak()
    for voice in VOICES:
        if not arguments.voice or voice.name in arguments.voice:
            path = build(voice, espeak, arguments.output)
            print(f"{voice.name}: {path.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
