"""Whisper by CTranslate2: on a GPU, and on a processor in precisions without OpenVINO graphs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ctranslate2
import numpy as np
from engines import SECONDS_PER_FRAME, Aligned, Decoded, Encoded, Float
from tokens import Tokens

_BEST_OF = 5
_FRAMES_PER_SECOND = round(1 / SECONDS_PER_FRAME)
_FLOAT32, _BFLOAT16 = ctranslate2.DataType.float32, ctranslate2.DataType.bfloat16


@dataclass(frozen=True, eq=False)
class _Batch:
    """The encoder's output of windows that were encoded together, on the engine's device."""

    view: ctranslate2.StorageView

    @cached_property
    def array(self) -> Float:
        """The same in the processor's memory, [windows, frames, width]."""
        here = self.view if self.view.device == "cpu" else self.view.to_device(ctranslate2.Device.cpu)
        # NumPy has no bfloat16, which float32 holds exactly.
        return np.asarray(here.to(_FLOAT32) if here.dtype == _BFLOAT16 else here)

    def rows(self) -> list["_Row"]:
        return [_Row(self, at) for at in range(self.view.shape[0])]

    def part(self, first: int, count: int) -> ctranslate2.StorageView:
        """Windows next to each other, which are not copied."""
        name = "__array_interface__" if self.view.device == "cpu" else "__cuda_array_interface__"
        whole = getattr(self.view, name)
        address, read_only = whole["data"]
        shape, width = (count, *whole["shape"][1:]), np.dtype(whole["typestr"]).itemsize
        begin = address + first * math.prod(shape[1:]) * width
        part = SimpleNamespace(**{name: {**whole, "shape": shape, "data": (begin, read_only)}})
        return ctranslate2.StorageView.from_array(part)


@dataclass(frozen=True)
class _Row:
    """One window of a batch; NumPy takes it for an array [1, frames, width]."""

    batch: _Batch
    at: int

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Float:
        return self.batch.array[self.at : self.at + 1]


class CTranslateEngine:
    """A converted Whisper in ``folder``."""

    decodes_together = 64

    def __init__(
        self,
        folder: Path,
        tokens: Tokens,
        beam_size: int,
        *,
        device: str,
        device_index: int,
        compute_type: str,
        threads: int,
    ) -> None:
        self._tokens, self._beam_size = tokens, beam_size
        self._model = ctranslate2.models.Whisper(
            str(folder),
            device=device,
            device_index=device_index,
            compute_type=compute_type,
            intra_threads=threads,
            inter_threads=1,
        )
        # A GPU encodes windows faster together.
        self.encodes_together = device != "cpu"

    def encode(self, features: Float) -> list[Encoded]:
        batch = _Batch(self._model.encode(ctranslate2.StorageView.from_array(features)))
        return [Encoded(row) for row in batch.rows()]

    def languages(self, windows: Sequence[Encoded]) -> list[dict[int, float]]:
        rankings = self._model.detect_language(_stack(windows))
        return [{self._tokens.id(token): probability for token, probability in ranking} for ranking in rankings]

    def decode(
        self,
        windows: Sequence[Encoded],
        prompts: Sequence[list[int]],
        most: int,
        temperature: float,
        seeds: Sequence[int | None],
    ) -> list[Decoded]:
        if temperature and seeds[0] is not None:
            # One for all windows: in other company, a window has other samples.
            ctranslate2.set_random_seed(seeds[0])
        sampling = {"beam_size": self._beam_size}
        if temperature:
            sampling = {"beam_size": 1, "num_hypotheses": _BEST_OF, "sampling_topk": 0}
        results = self._model.generate(
            _stack(windows),
            list(prompts),
            # CTranslate2 allows half of this as new tokens, and at most what the prompt without its last token leaves.
            max_length=max(2 * most, len(prompts[0]) - 1 + most),
            return_scores=True,
            return_no_speech_prob=True,
            sampling_temperature=temperature or 1.0,
            **sampling,
        )
        return [self._decoded(result.sequences_ids[0], result.scores[0], result.no_speech_prob) for result in results]

    def _decoded(self, tokens: Sequence[int], score: float, no_speech_prob: float) -> Decoded:
        # CTranslate2's score is the log probability per token.
        spoken = [token for token in tokens if token < self._tokens.end]
        return Decoded(spoken, score * len(tokens), no_speech_prob)

    def align(
        self, windows: Sequence[Encoded], task: list[int], decoded: Sequence[Decoded], seconds: Sequence[float]
    ) -> list[Aligned]:
        # CTranslate2 appends the no-timestamps token itself, and counts frames of features.
        frames = [2 * max(1, round(end * _FRAMES_PER_SECOND)) for end in seconds]
        results = self._model.align(_stack(windows), task[:-1], [text.tokens for text in decoded], frames)
        return [
            Aligned(_starts(result.alignments, len(text.tokens)), result.text_token_probs)
            for result, text in zip(results, decoded, strict=True)
        ]


def _stack(windows: Sequence[Encoded]) -> ctranslate2.StorageView:
    """The output of the windows together. Neighbours in a batch stay on its device; other windows are copied."""
    rows = [window.output for window in windows]
    if not isinstance(first := rows[0], _Row):
        return ctranslate2.StorageView.from_array(np.concatenate(rows))
    batch, view = first.batch.rows(), first.batch.view
    if rows == batch:
        return view
    # CTranslate2 takes an address for one of the first device, and tells none of bfloat16.
    is_addressed = view.device_index == 0 and view.dtype != _BFLOAT16
    if is_addressed and rows == batch[first.at : first.at + len(rows)]:
        return first.batch.part(first.at, len(rows))
    return ctranslate2.StorageView.from_array(np.concatenate(rows)).to(view.dtype)


def _starts(alignments: Sequence[tuple[int, int]], tokens: int) -> Any:
    """Start of each of ``tokens`` and of the end in seconds, [tokens + 1], from pairs of token and frame."""
    # Keep the first frame of each token.
    frames = dict(reversed(alignments))
    frame = alignments[-1][1] if alignments else 0
    starts = np.empty(tokens + 1)
    for token in reversed(range(tokens + 1)):
        # A token without a frame starts with the next one.
        frame = frames.get(token, frame)
        starts[token] = frame * SECONDS_PER_FRAME
    return starts
