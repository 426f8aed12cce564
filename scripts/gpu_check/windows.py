"""Windows of 30 s through one Whisper: whether it encodes and decodes as fp32 on a processor does, and how fast."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from scripts.benchmark.lookalikes.whisper import TOKENS
from scripts.export_models.parity import Check
from scripts.gpu_check import operations
from scripts.gpu_check.inputs import WINDOW_SECONDS, windows
from scripts.gpu_check.job import Job, Row

# Windows that parity is measured on.
_COMPARED = 2


@dataclass(frozen=True)
class Whisper:
    """One side. ``encode`` takes features [windows, mel bins, frames] and answers its own encoder output once that is
    there; ``rows`` makes an array [windows, frames, width] of it, and ``decode`` the tokens of each window. ``limit``
    is how far the encoder may be from fp32, relative to its size.
    """

    side: str
    encode: Callable[[np.ndarray], Any]
    rows: Callable[[Any], np.ndarray]
    decode: Callable[[Any], Sequence[Sequence[int]]]
    limit: float

    def encoder(self, features: np.ndarray) -> Callable[[], object]:
        return lambda: self.encode(features)

    def whole(self, features: np.ndarray) -> Callable[[], object]:
        return lambda: self.decode(self.encode(features))


def measure(job: Job, its: Whisper, wanted: tuple[np.ndarray, Sequence[Sequence[int]]]) -> None:
    """Compare a side with what is ``wanted`` of its encoder and decoder, then time it by the number of windows."""
    _compare(job, its, wanted)
    given = windows(max(job.size.windows))
    layers, width = job.size.whisper_layers, job.size.whisper_width
    for count in job.size.windows:
        some, seconds = given[:count], float(count * WINDOW_SECONDS)
        encoding = operations.of_encoding(count, layers, width)
        whole = encoding + operations.of_decoding(count, width, TOKENS)
        length = f"{WINDOW_SECONDS} s"
        encode = Row(its.side, "encoder", count, length, seconds, encoding)
        both = Row(its.side, f"encoder and {TOKENS} tokens", count, length, seconds, whole)
        job.tell.measure(encode, partial(its.encoder, some), job.size.runs)
        job.tell.measure(both, partial(its.whole, some), job.size.runs)


def answers(its: Whisper) -> tuple[np.ndarray, Sequence[Sequence[int]]]:
    """The encoder output and the tokens of the windows that parity is measured on."""
    encoded = its.encode(windows(_COMPARED))
    return its.rows(encoded), its.decode(encoded)


def _compare(job: Job, its: Whisper, wanted: tuple[np.ndarray, Sequence[Sequence[int]]]) -> None:
    rows, tokens = answers(its)
    error = float(np.linalg.norm(rows - wanted[0]) / np.linalg.norm(wanted[0]))
    job.tell.check(Check(its.side, "relative error of the encoder, from fp32 on the processor", error, its.limit))
    other = float(np.mean([list(one) != list(two) for one, two in zip(tokens, wanted[1], strict=True)]))
    job.tell.check(Check(its.side, "share of windows with other tokens", other, 0.0))
