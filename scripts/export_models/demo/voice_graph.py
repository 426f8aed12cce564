"""The ONNX graph of a demo voice: phoneme ids to sound units, laid end to end with a linear cross-fade."""

from dataclasses import dataclass

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper
from piper.phoneme_ids import DEFAULT_PHONEME_ID_MAP

from scripts.export_models.demo.units import SILENCE, Diphone, is_modifier
from scripts.export_models.graphs.builder import Graph

IDS = 256
_NONE = -1
_PAUSE_SECONDS = 0.08
_SILENT_SYMBOLS = "^$.,:;!?"
_LAST = np.iinfo(np.int64).max
_MU = 255.0
_LOUDNESS = 0.9
# Symbols of Piper's phonemizer that espeak's events spell in another way.
_EQUIVALENTS = {"ɾ": "r", "r": "ɾ", "ɐ": "ə", "ɚ": "ə", "ɫ": "l", "ʌ": "ə", "ɔ": "o", "ɛ": "e", "ʏ": "y"}

Numbers = NDArray[np.int64]


@dataclass
class DiphonePool:
    """Sound units in one array: unit ``i`` is ``sound[starts[i] : starts[i] + lengths[i]]``, before a tail to fade out.

    ``pairs`` INT64 [classes, classes, 2] names the one or two units that join two classes of symbols, or -1.
    """

    classes: list[str]
    sound: NDArray[np.int16]
    starts: list[int]
    lengths: list[int]
    pairs: Numbers


def pool(diphones: dict[tuple[str, str], Diphone], fade: int, sample_rate: int) -> DiphonePool:
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
    return DiphonePool(classes, np.concatenate(sound), starts, lengths, pairs)


def _class_of(symbol: str, number: dict[str, int]) -> int | None:
    """The class of a symbol, of its equivalent, or of its long form."""
    if symbol in _SILENT_SYMBOLS:
        return 0
    known = number.get(symbol, number.get(_EQUIVALENTS.get(symbol, "")))
    longer = [index for name, index in number.items() if name[0] == symbol]
    return longer[0] if known is None and longer else known


def _symbol_tables(classes: list[str]) -> tuple[Numbers, Numbers, Numbers]:
    """By phoneme id: whether it is kept, whether it modifies the id before it, and the class of (id, next id)."""
    number = {symbol: index for index, symbol in enumerate(classes)}
    keep, modifies = np.zeros(IDS, np.int64), np.zeros(IDS, np.int64)
    class_of = np.zeros((IDS, IDS), np.int64)
    ids = {s: group[0] for s, group in DEFAULT_PHONEME_ID_MAP.items() if len(s) == 1}
    modifiers = {symbol: key for symbol, key in ids.items() if is_modifier(symbol)}
    for symbol, key in modifiers.items():
        if any(symbol in name for name in classes):
            keep[key] = modifies[key] = 1
    for symbol, key in ids.items():
        base = _class_of(symbol, number)
        if base is None or symbol in modifiers:
            continue
        keep[key] = 1
        class_of[key, :] = base
        for modifier, modifier_key in modifiers.items():
            class_of[key, modifier_key] = number.get(symbol + modifier, base)
    return keep, modifies, class_of.reshape(-1)


def _mu_law(sound: NDArray[np.int16]) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """8-bit mu-law codes (ITU-T G.711's curve) of the sound at full scale, and the table that decodes them."""
    x = sound.astype(np.float64) / max(1, int(np.abs(sound).max()))
    codes = np.round((np.sign(x) * np.log1p(_MU * np.abs(x)) / np.log1p(_MU) + 1) * 127.5)
    y = np.arange(256) / 127.5 - 1
    table = np.sign(y) * np.expm1(np.abs(y) * np.log1p(_MU)) / _MU
    # The code of silence must decode to exactly 0.
    table[int(np.round(127.5))] = 0.0
    return codes.astype(np.uint8), (_LOUDNESS * table).astype(np.float32)


def _keep(g: Graph, values: str, flags: str) -> str:
    return g.op("Compress", values, g.cast(flags, TensorProto.BOOL), axis=0)


def _classes(g: Graph, voice: DiphonePool) -> str:
    """Phoneme ids to classes of symbols, with silence at both ends: INT64 [classes]."""
    keep, modifies, class_of = (g.weight(table, "table") for table in _symbol_tables(voice.classes))
    flat = g.op("Reshape", "input", g.constant([-1]))
    given = g.op("Slice", flat, g.constant([0]), "input_lengths", g.constant([0]))
    ids = g.op("Min", g.op("Max", given, g.constant(0)), g.constant(IDS - 1))
    symbols = _keep(g, ids, g.op("Gather", keep, ids))
    followers = g.op("Slice", symbols, g.constant([1]), g.constant([_LAST]), g.constant([0]))
    following = g.op("Concat", followers, g.constant([0]), axis=0)
    cells = g.op("Add", g.op("Mul", symbols, g.constant(IDS)), following)
    is_sound = g.op("Sub", g.constant(1), g.op("Gather", modifies, symbols))
    phones = _keep(g, g.op("Gather", class_of, cells), is_sound)
    return g.op("Concat", g.constant([0]), phones, g.constant([0]), axis=0)


def _units(g: Graph, classes: str, voice: DiphonePool) -> str:
    """Classes to the sound units that join each to the next: INT64 [units]."""
    left = g.op("Slice", classes, g.constant([0]), g.constant([-1]), g.constant([0]))
    right = g.op("Slice", classes, g.constant([1]), g.constant([_LAST]), g.constant([0]))
    pair = g.op("Add", g.op("Mul", left, g.constant(len(voice.classes))), right)
    both = g.op("Gather", g.weight(voice.pairs.reshape(-1, 2), "pairs"), pair, axis=0)
    flat = g.op("Reshape", both, g.constant([-1]))
    return g.op("Compress", flat, g.op("GreaterOrEqual", flat, g.constant(0)), axis=0)


def _samples(g: Graph, units: str, voice: DiphonePool, fade: int) -> str:
    """Units to samples: each begins while the one before fades over ``fade`` samples."""
    codes, decode = (g.weight(array, "sound") for array in _mu_law(voice.sound))
    starts = g.op("Gather", g.weight(np.array(voice.starts, np.int64), "starts"), units)
    lengths = g.op("Gather", g.weight(np.array(voice.lengths, np.int64), "lengths"), units)
    ends = g.op("CumSum", lengths, g.constant(0))
    begins = g.op("Sub", ends, lengths)
    total = g.op("Gather", ends, g.constant([-1]))
    unit = g.running_index(begins, total)
    every = g.op("Range", g.constant(0), g.op("Squeeze", total), g.constant(1))
    offset = g.op("Sub", every, g.op("Gather", begins, unit))
    before = g.op("Max", g.op("Sub", unit, g.constant(1)), g.constant(0))
    before_end = g.op("Add", g.op("Gather", starts, before), g.op("Gather", lengths, before))

    def sound_at(address: str) -> str:
        return g.op("Gather", decode, g.cast(g.op("Gather", codes, address), TensorProto.INT64))

    body = sound_at(g.op("Add", g.op("Gather", starts, unit), offset))
    tail = sound_at(g.op("Add", before_end, g.op("Min", offset, g.constant(fade - 1))))
    middle = g.op("Add", g.cast(offset, TensorProto.FLOAT), g.constant(0.5, np.float32))
    ramp = g.op("Div", middle, g.constant(fade, np.float32))
    gain = g.op("Clip", ramp, g.constant(0, np.float32), g.constant(1, np.float32))
    return g.op("Add", tail, g.op("Mul", g.op("Sub", body, tail), gain))


def build_graph(voice: DiphonePool, fade: int) -> onnx.ModelProto:
    """The model with Piper's tensors; ``scales`` is accepted without effect: these voices cannot vary."""
    g = Graph()
    speech = _samples(g, _units(g, _classes(g, voice), voice), voice, fade)
    # Piper's own files declare the two first axes free, and Triton wants the very same shape.
    has_length = g.op("GreaterOrEqual", "input_lengths", g.constant(0))
    one = g.cast(has_length, TensorProto.INT64)
    shape = g.op("Concat", g.op("Shape", "input_lengths"), one, g.constant([1, -1]), axis=0)
    g.op("Reshape", speech, shape, output="output")
    inputs = [
        helper.make_tensor_value_info("input", TensorProto.INT64, ["batch_size", "phonemes"]),
        helper.make_tensor_value_info("input_lengths", TensorProto.INT64, ["batch_size"]),
        helper.make_tensor_value_info("scales", TensorProto.FLOAT, [3]),
    ]
    output = helper.make_tensor_value_info("output", TensorProto.FLOAT, ["batch_size", "time", 1, "samples"])
    return g.model(inputs, [output])
