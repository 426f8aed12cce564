"""Measures the inputs of an encoder's linear layers on texts of many kinds, for the int8 weights."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.utils.rnn import pad_sequence

from scripts.export_models.progress import SILENT, Progress

# Prose, questions, code and letters in many languages.
_TEXTS = Path(__file__).with_name("calibration.txt")
_HELD_OUT_EVERY = 5
# About so many tokens of each text are sampled.
_SAMPLED_TOKENS = 8
# The most tokens of a batch, with padding. X'X of M3's widest layer is 64 MB, so each batch should be large.
_BATCH_TOKENS = 1024
# Query, key and value share their inputs, which are measured once.
_MEASURED = ("attention.self.query", "attention.output.dense", "intermediate.dense", "output.dense")


@dataclass
class Inputs:
    """The inputs X [tokens, in] of a layer: ``low``, ``high`` and ``total`` [in], ``products`` X'X [in, in].

    ``rows`` are sampled tokens.
    """

    low: NDArray[np.float32]
    high: NDArray[np.float32]
    total: NDArray[np.float64]
    products: NDArray[np.float32]
    count: int = 0
    rows: list[NDArray[np.float32]] = field(default_factory=list)

    @classmethod
    def of_width(cls, width: int) -> "Inputs":
        edge = np.full(width, np.inf, np.float32)
        return cls(edge, -edge, np.zeros(width), np.zeros((width, width), np.float32))

    def add(self, given: torch.Tensor) -> None:
        """Add tokens [tokens, in]."""
        rows = given.numpy()
        self.low = np.minimum(self.low, rows.min(axis=0))
        self.high = np.maximum(self.high, rows.max(axis=0))
        self.total += rows.sum(axis=0)
        torch.from_numpy(self.products).addmm_(given.T, given)
        self.count += len(rows)

    def keep(self, text: torch.Tensor) -> None:
        """Sample about as many tokens from a long text [tokens, in] as from a short one."""
        self.rows.append(text[:: max(1, len(text) // _SAMPLED_TOKENS)].numpy().copy())

    @property
    def mean(self) -> NDArray[np.float32]:
        mean: NDArray[np.float32] = (self.total / self.count).astype(np.float32)
        return mean

    @property
    def hessian(self) -> NDArray[np.float64]:
        """X'X/n [in, in], for n tokens."""
        return self.products.astype(np.float64) / self.count

    @property
    def sample(self) -> NDArray[np.float32]:
        """The sampled tokens, [tokens, in]."""
        return np.concatenate(self.rows)


Calibration = dict[str, Inputs]


def texts() -> list[str]:
    """The texts to calibrate on."""
    return [line for at, line in enumerate(_lines()) if at % _HELD_OUT_EVERY]


def held_out() -> list[str]:
    """Texts of the same kinds that no calibration has seen."""
    return _lines()[::_HELD_OUT_EVERY]


def _lines() -> list[str]:
    return _TEXTS.read_text(encoding="utf-8").splitlines()


def calibrate(encoder: Any, ids: Sequence[NDArray[np.int32]], progress: Progress = SILENT) -> Calibration:
    """Run a Hugging Face encoder on token ids and measure the inputs of its linear layers, by layer name."""
    found: Calibration = {}
    for batch in progress.over(list(_batches(ids)), "calibrating"):
        padded = pad_sequence(batch, batch_first=True, padding_value=encoder.config.pad_token_id)
        real = pad_sequence([torch.ones(len(text), dtype=torch.bool) for text in batch], batch_first=True)
        with torch.inference_mode(), _measuring(encoder, real, found):
            encoder(input_ids=padded, attention_mask=real.long())
    return found


def _batches(ids: Sequence[NDArray[np.int32]]) -> Iterator[list[torch.Tensor]]:
    """Batches of texts of similar lengths."""
    batch: list[torch.Tensor] = []
    for text in sorted(ids, key=len):
        if batch and (len(batch) + 1) * len(text) > _BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(torch.from_numpy(text.astype(np.int64)))
    yield batch


@contextmanager
def _measuring(encoder: Any, real: torch.Tensor, into: Calibration) -> Iterator[None]:
    """Within the block, add the layers' inputs at the tokens that are ``real``, BOOL [texts, tokens]."""

    def measure(name: str) -> Any:
        def hook(_: Any, given: tuple[torch.Tensor, ...]) -> None:
            inputs = into.setdefault(name, Inputs.of_width(given[0].shape[-1]))
            inputs.add(given[0][real])
            for text, tokens in zip(given[0], real, strict=True):
                inputs.keep(text[tokens])

        return hook

    hooks = [
        module.register_forward_pre_hook(measure(name))
        for name, module in encoder.named_modules()
        if isinstance(module, torch.nn.Linear) and name.endswith(_MEASURED)
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
