"""What the demo Whisper is trained on: batches of synthetic speech, and what both heads should say."""

import itertools
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import IterableDataset

from scripts.export_models.demo import tokenizer as demo_tokenizer
from scripts.export_models.demo.speech_corpus import SAMPLE_RATE, Clip, Corpus, Span
from scripts.export_models.whisper.served import recognizer_module

WINDOW_SECONDS = 8.0
MEL_BINS = 80
HOP = 160
BATCH = 16
POOL_BATCHES = 16
IGNORED = -100


class Examples(IterableDataset[dict[str, Tensor]]):
    """Batches of features, decoder inputs, labels and CTC targets, grouped by length."""

    def __init__(self, repository: Path, tokenizer: Any, seed: int) -> None:
        self._repository, self._tokenizer, self._seed = repository, tokenizer, seed

    def __iter__(self) -> Iterator[dict[str, Tensor]]:
        torch.set_num_threads(1)
        worker = torch.utils.data.get_worker_info()
        seed = self._seed + (worker.id if worker else 0)
        corpus = iter(Corpus(self._repository, seed, WINDOW_SECONDS))
        log_mel = recognizer_module().LogMel(MEL_BINS)
        order = np.random.default_rng(seed)
        while True:
            pool = list(itertools.islice(corpus, BATCH * POOL_BATCHES))
            pool.sort(key=lambda window: len(window.audio))
            batches = [pool[i : i + BATCH] for i in range(0, len(pool), BATCH)]
            for index in order.permutation(len(batches)):
                yield self._collate(batches[index], log_mel)

    def _collate(self, windows: list[Clip], log_mel: Any) -> dict[str, Tensor]:
        longest = max(len(window.audio) for window in windows)
        # A multiple of a tenth of a second, as a served window has.
        length = min(math.ceil(longest / 1600) * 1600, int(WINDOW_SECONDS * SAMPLE_RATE))
        features = np.stack([log_mel(window.audio, length) for window in windows])
        sequences = [self._sequence(window) for window in windows]
        inputs = _pad([s[:-1] for s, _, _ in sequences], self._tokenizer.eos_token_id)
        labels = _pad([labels for _, labels, _ in sequences], IGNORED)
        ctc = [c for _, _, c in sequences]
        return {
            "features": torch.from_numpy(features),
            "inputs": inputs,
            "labels": labels,
            "ctc": torch.tensor([piece for c in ctc for piece in c]),
            "ctc_lengths": torch.tensor([len(c) for c in ctc]),
        }

    def _sequence(self, window: Clip) -> tuple[list[int], list[int], list[int]]:
        """Decoder tokens, the labels of all but the first, and the text pieces alone."""
        token = self._tokenizer.convert_tokens_to_ids

        def pieces(text: str) -> list[int]:
            ids: list[int] = self._tokenizer(" " + text, add_special_tokens=False).input_ids
            return ids

        def stamp(seconds: float) -> int:
            step = demo_tokenizer.TIMESTAMP_STEP_SECONDS
            return int(token("<|0.00|>")) + min(round(seconds / step), round(WINDOW_SECONDS / step))

        def timed(span: Span) -> list[int]:
            return [stamp(span.start), *pieces(span.text), stamp(span.end)]

        prefix = [token("<|startofprev|>"), *pieces(window.prompt)] if window.prompt else []
        task = [token("<|startoftranscript|>"), token(f"<|{window.language}|>"), token("<|transcribe|>")]
        body = [piece for span in window.spans for piece in timed(span)] or [stamp(0)]
        sequence = [*prefix, *task, *body, self._tokenizer.eos_token_id]
        labels = [IGNORED] * len(prefix) + sequence[len(prefix) + 1 :]
        if not window.spans:
            labels[len(prefix)] = token("<|nospeech|>")
        return sequence, labels, [piece for span in window.spans for piece in pieces(span.text)]


def _pad(rows: list[list[int]], value: int) -> Tensor:
    width = max(map(len, rows))
    return torch.tensor([row + [value] * (width - len(row)) for row in rows])
