"""Texts to rows with OpenVINO, block after block, for as long as somebody waits for them."""

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
from blocks import blocks
from graphs import Processor
from numpy.typing import NDArray

GRAPH = "model.onnx"
# How long a caller who has gone may be computed for.
_LOOK_MS = 50

Ids = NDArray[np.int32]
Rows = NDArray[np.float32]
# Whether anybody waits for any of the texts with these numbers.
Wanted = Callable[[NDArray[np.int64]], bool]


class TextModel:
    """The graph in ``folder`` as ``scripts/export_models/text`` writes it, compiled for so many ``threads``.

    Each text's row depends on that text alone.
    """

    def __init__(self, folder: Path, threads: int) -> None:
        settings = json.loads((folder / "quartet.json").read_text(encoding="utf-8"))
        if "processor_flags" not in settings:
            raise ValueError(f"{folder} was exported for CUDA: export it with --precision auto")
        processor = Processor(threads, settings["processor_flags"], exact=settings["precision"] == "fp32")
        self._request = processor.compiled(folder / GRAPH).create_infer_request()
        # Weights are laid out in the first run: no caller waits for that.
        self._request.infer({"input_ids": np.zeros(1, np.int32), "lengths": np.ones(1, np.int32)})
        self._shape = self._request.get_output_tensor().data.shape[1:]

    def compute(self, texts: Sequence[Ids], wanted: Wanted = lambda _: True) -> Rows:
        """A row a text, in order: the token ids of each in, [texts, ...] out; zeros for texts that nobody waits for."""
        rows = np.zeros((len(texts), *self._shape), np.float32)
        for block in blocks(np.array([len(text) for text in texts], np.int32)):
            its = [texts[number] for number in block]
            if wanted(block) and self._finished(its, partial(wanted, block)):
                rows[block] = self._request.get_output_tensor().data
        return rows

    def _finished(self, texts: Sequence[Ids], wanted: Callable[[], bool]) -> bool:
        """Run to the end, or until nobody waits."""
        lengths = np.array([len(text) for text in texts], np.int32)
        self._request.start_async({"input_ids": np.concatenate(texts), "lengths": lengths})
        while not self._request.wait_for(_LOOK_MS):
            if not wanted():
                self._request.cancel()
                # OpenVINO raises this for what was cancelled.
                with suppress(RuntimeError):
                    self._request.wait()
                return False
        return True
