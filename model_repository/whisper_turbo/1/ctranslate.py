"""All that Whisper does, by CTranslate2: on a GPU everything, beside graphs for processors what those do not do."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np
from decoders import LATEST_FIRST_TIMESTAMP, Decoded
from encoders import Encoded, Float

_BEST_OF = 5
# Bytes of weights. Threads that compute less than these wait for each other as long as they work, and ten times as long
# where something else works beside them.
_SMALL = 32_000_000


class CTranslate:
    """A converted Whisper in ``folder``."""

    def __init__(self, folder: Path, *, device: str, device_index: int, compute_type: str, threads: int) -> None:
        self._model = ctranslate2.models.Whisper(
            str(folder),
            device=device,
            device_index=device_index,
            compute_type=compute_type,
            intra_threads=1 if (folder / "model.bin").stat().st_size < _SMALL else threads,
            inter_threads=1,
        )
        # On a GPU windows together take less time than one by one.
        self.together = device != "cpu"

    def encode(self, features: Float) -> list[Encoded]:
        """Windows of one length, [windows, mel bins, 2 x frames]."""
        encoded = self._model.encode(ctranslate2.StorageView.from_array(features), to_cpu=self.together)
        rows = np.asarray(encoded)
        return [Encoded(rows[at : at + 1]) for at in range(len(rows))]

    def languages(self, windows: Sequence[Encoded]) -> list[str]:
        """The likeliest language token of each window."""
        return [ranking[0][0] for ranking in self._model.detect_language(_stack(windows))]

    def search(
        self, windows: Sequence[Encoded], prompts: list[list[int]], most: int, temperature: float, beam: int
    ) -> list[Decoded]:
        """Decode windows together; above a temperature of 0, the best of some samples."""
        sampling = {"beam_size": beam}
        if temperature > 0:
            sampling = {"beam_size": 1, "num_hypotheses": _BEST_OF, "sampling_topk": 0}
        results = self._model.generate(
            _stack(windows),
            prompts,
            # CTranslate2 lets half of this be new, and no more than the prompt leaves.
            max_length=max(2 * most, len(prompts[0]) + most),
            max_initial_timestamp_index=LATEST_FIRST_TIMESTAMP,
            return_scores=True,
            return_no_speech_prob=True,
            sampling_temperature=temperature or 1.0,
            **sampling,
        )
        # CTranslate2's score is the log probability a token.
        its = [(list(result.sequences_ids[0]), result.scores[0], result.no_speech_prob) for result in results]
        return [Decoded(tokens, score * len(tokens), silent) for tokens, score, silent in its]

    def align(self, windows: Sequence[Encoded], start: list[int], tokens: list[list[int]], frames: list[int]) -> Any:
        """Where the tokens of each window lie in its ``frames`` of features."""
        return self._model.align(_stack(windows), start, tokens, frames)


def _stack(windows: Sequence[Encoded]) -> Any:
    stacked = np.ascontiguousarray(np.concatenate([window.output for window in windows]))
    return ctranslate2.StorageView.from_array(stacked)
