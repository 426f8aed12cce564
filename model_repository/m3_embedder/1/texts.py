"""Texts to rows with OpenVINO, block after block, for as long as somebody waits for them."""

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from blocks import blocks
from graphs import Processor
from numpy.typing import NDArray

GRAPH = "model.onnx"
# How long a caller who has gone may be computed for.
_LOOK_MS = 50
# Rows of the grid on which the graph's attention lies are as long as a multiple of it.
_PLACES = 16

Ids = NDArray[np.int32]
Rows = NDArray[np.float32]
# Whether anybody waits for any of the texts with these numbers.
Wanted = Callable[[NDArray[np.int64]], bool]


def _others(lengths: Sequence[int]) -> list[int]:
    """Lengths of a few short texts, of which nothing in a graph has the shape that it has of those with ``lengths``:
    neither their number, nor their tokens, nor the places of their grid.
    """
    if len(lengths) > 1:
        return [1]
    return [1, 1] if lengths[0] > 2 * _PLACES else [12, 12, 12]


class TextModel:
    """The graph in ``folder`` as ``scripts/export_models/text`` writes it, compiled for so many ``threads``.

    Each text's row depends on that text alone.
    """

    def __init__(self, folder: Path, threads: int) -> None:
        settings = json.loads((folder / "quartet.json").read_text(encoding="utf-8"))
        if "processor_flags" not in settings:
            raise ValueError(f"{folder} was exported for CUDA: export it with --precision auto")
        self._processor = Processor(threads, settings["processor_flags"], exact=settings["precision"] == "fp32")
        self._graph = folder / GRAPH
        # OpenVINO looks for a while where it may multiply integers.
        self._slow_to_compile = settings["precision"] == "int8"
        self._compile()
        self._shape = self._request.get_output_tensor().data.shape[1:]

    def compute(self, texts: Sequence[Ids], wanted: Wanted = lambda _: True) -> Rows:
        """A row a text, in order: the token ids of each in, [texts, ...] out; zeros for texts that nobody waits for."""
        rows = np.zeros((len(texts), *self._shape), np.float32)
        for block in blocks(np.array([len(text) for text in texts], np.int32)):
            its = [texts[number] for number in block]
            if wanted(block) and self._finished(its, partial(wanted, block)):
                rows[block] = self._request.get_output_tensor().data
        return rows

    def _compile(self) -> None:
        self._request: Any = self._processor.compiled(self._graph, keep=self._slow_to_compile).create_infer_request()
        # Weights are laid out in the first run: no caller waits for that.
        self._start([np.zeros(1, np.int32)])
        self._request.wait()

    def _start(self, texts: Sequence[Ids]) -> None:
        self._lengths = [len(text) for text in texts]
        self._request.start_async({"input_ids": np.concatenate(texts), "lengths": np.array(self._lengths, np.int32)})

    def _finished(self, texts: Sequence[Ids], wanted: Callable[[], bool]) -> bool:
        """Run to the end, or until nobody waits."""
        try:
            if self._request is None:
                self._compile()
            before = self._lengths
            self._start(texts)
            while not self._request.wait_for(_LOOK_MS):
                if not wanted():
                    self._break_off(before)
                    return False
        except Exception:
            # A run that failed on its way leaves shapes that the next would take for its own. Its memory goes first:
            # it may be what was missing.
            self._request = None
            raise
        return True

    def _break_off(self, before: Sequence[int]) -> None:
        """Cancel what runs, and run texts unlike those that ran to their end ``before``.

        To what was cancelled before OpenVINO came to it, it has given the shape of its output, and remembers the shapes
        of its inputs from ``before``; when the same came again, it would leave the output as it is.
        """
        self._request.cancel()
        # OpenVINO raises this for what was cancelled.
        with suppress(RuntimeError):
            self._request.wait()
        self._start([np.zeros(length, np.int32) for length in _others(before)])
        self._request.wait()
