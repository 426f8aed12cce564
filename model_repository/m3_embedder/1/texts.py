"""Texts to rows with OpenVINO, one block at a time; blocks without callers are skipped."""

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
# Interval of checks whether a caller still waits.
_POLL_MS = 50
# The rows of the padded batch have a multiple of this length.
_PLACES = 16

# The graph's input that says which texts are weighed, where it has one.
_WEIGHED = "weighed"

Ids = NDArray[np.int32]
Rows = NDArray[np.float32]
# Whether a caller waits for any of the texts with these indices.
Wanted = Callable[[NDArray[np.int64]], bool]


def _unlike(lengths: Sequence[int]) -> list[int]:
    """Lengths of a few short texts that have other numbers of texts, tokens and places than ``lengths``."""
    if len(lengths) > 1:
        return [1]
    return [1, 1] if lengths[0] > 2 * _PLACES else [12, 12, 12]


class TextModel:
    """The graph that ``scripts/export_models/text.py`` wrote to ``folder``, compiled for ``threads``.

    A text's row depends only on that text.
    """

    def __init__(self, folder: Path, threads: int) -> None:
        settings = json.loads((folder / "quartet.json").read_text(encoding="utf-8"))
        if "processor_flags" not in settings:
            raise ValueError(f"{folder} was exported for CUDA: export it with --precision auto")
        self._processor = Processor(threads, settings["processor_flags"], exact=settings["precision"] == "fp32")
        self._graph = folder / GRAPH
        # OpenVINO takes long to compile products of integers.
        self._slow_to_compile = settings["precision"] == "int8"
        self._compile()
        self._shape = self._request.get_output_tensor(0).data.shape[1:]

    def compute(self, texts: Sequence[Ids], wanted: Wanted = lambda _: True) -> Rows:
        """Rows [texts, ...] for the token ids of each text, in order; zeros for texts without callers."""
        return self.weigh(texts, np.zeros(len(texts), bool), wanted)[0]

    def weigh(
        self, texts: Sequence[Ids], weighed: NDArray[np.bool_], wanted: Wanted = lambda _: True
    ) -> tuple[Rows, list[Rows]]:
        """The rows, and the weights [tokens] of the tokens of each text that is ``weighed``; zeros for other texts.

        Without weights in the graph, all are zeros.
        """
        rows = np.zeros((len(texts), *self._shape), np.float32)
        weights = [np.zeros(len(text), np.float32) for text in texts]
        for block in blocks(np.array([len(text) for text in texts], np.int32)):
            block_texts = [texts[number] for number in block]
            if wanted(block) and self._finished(block_texts, weighed[block], partial(wanted, block)):
                rows[block] = self._request.get_output_tensor(0).data
                if self.weighs and weighed[block].any():
                    ends = np.cumsum([len(text) for text in block_texts])[:-1]
                    found = np.split(self._request.get_output_tensor(1).data.copy(), ends)
                    for number, of_text in zip(block, found, strict=True):
                        weights[number] = of_text
        return rows, weights

    def _compile(self) -> None:
        compiled = self._processor.compiled(self._graph, keep=self._slow_to_compile)
        self.weighs = any(_WEIGHED in port.names for port in compiled.inputs)
        self._request: Any = compiled.create_infer_request()
        # The first run lays out the weights. Do it before any caller waits.
        self._start([np.zeros(1, np.int32)], np.ones(1, bool))
        self._request.wait()

    def _start(self, texts: Sequence[Ids], weighed: NDArray[np.bool_]) -> None:
        self._lengths = [len(text) for text in texts]
        inputs = {"input_ids": np.concatenate(texts), "lengths": np.array(self._lengths, np.int32)}
        self._request.start_async(inputs | ({_WEIGHED: weighed} if self.weighs else {}))

    def _finished(self, texts: Sequence[Ids], weighed: NDArray[np.bool_], wanted: Callable[[], bool]) -> bool:
        """Run the graph. Return False if it was cancelled because nobody waits."""
        try:
            if self._request is None:
                self._compile()
            before = self._lengths
            self._start(texts, weighed)
            while not self._request.wait_for(_POLL_MS):
                if not wanted():
                    self._cancel(before)
                    return False
        except Exception:
            # The next run would reuse the shapes of the failed one. Release its memory first, which may have been
            # what was missing.
            self._request = None
            raise
        return True

    def _cancel(self, before: Sequence[int]) -> None:
        """Cancel the run, and run texts with other shapes than those of the last complete run, ``before``.

        A node that was cancelled before it ran has its new output shape but remembers the input shapes of ``before``.
        If these come again, OpenVINO would not compute its output.
        """
        self._request.cancel()
        # OpenVINO raises this for a cancelled run.
        with suppress(RuntimeError):
            self._request.wait()
        # All weighed, they have another number of weighed tokens too.
        unlike = _unlike(before)
        self._start([np.zeros(length, np.int32) for length in unlike], np.ones(len(unlike), bool))
        self._request.wait()
