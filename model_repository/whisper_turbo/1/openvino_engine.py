"""Whisper on a processor by OpenVINO, with the graphs of ``scripts/export_models/whisper.py``."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
from alignment import token_starts
from engines import SECONDS_PER_FRAME, Aligned, Decoded, Encoded, Float
from graphs import DECODER, ENCODER, HANDED, Processor
from numpy.typing import NDArray
from search import Extends, Hypothesis, Search, Step, likeliest_first, samples, search_together
from tokens import Tokens

_BEST_OF = 5
_FIRST_FRAMES = 50
_NEVER = np.float32(-np.inf)
# The most bytes that the keys and values of windows decoded together may take.
_MOST_BYTES = 512_000_000


class OpenVinoEngine:
    """The graphs in ``folder``; ``heads`` are the alignment heads as pairs of layer and head.

    ``frames`` is the most that the encoder's output has.
    """

    # Several windows take longer together than one at a time.
    encodes_together = False

    def __init__(
        self,
        folder: Path,
        tokens: Tokens,
        beam_size: int,
        *,
        heads: Sequence[Sequence[int]],
        flags: Sequence[str],
        threads: int,
        frames: int,
    ) -> None:
        self._tokens, self._beam_size = tokens, beam_size
        processor = Processor(threads, flags)
        self._encoder = processor.compiled(folder / ENCODER)
        self._decoder = _Decoder(processor.compiled(folder / DECODER), processor.handed, tokens.start)
        if beam_size >= self._decoder.candidates:
            raise ValueError(f"the beam of a search is less than {self._decoder.candidates} wide, not {beam_size}")
        self._heads = sorted(heads, key=lambda pair: pair[0])
        bias = np.zeros(self._decoder.vocabulary, np.float32)
        # After the end token there are only special tokens and timestamps.
        bias[[*tokens.suppressed, *range(tokens.end + 1, len(bias))]] = _NEVER
        self._later, self._first = bias, bias.copy()
        self._first[tokens.suppressed_first] = _NEVER
        self._random = np.random.default_rng(0)
        # The first run lays out the weights and takes several times as long. Do it before any caller waits.
        bins = self._encoder.input(0).partial_shape[1].get_length()
        (longest,) = self.encode(np.zeros((1, bins, 2 * frames), np.float32))
        self.decodes_together = max(1, _MOST_BYTES // sum(array.nbytes for array in longest.attended.values()))

    def encode(self, features: Float) -> list[Encoded]:
        """One window, [1, mel bins, frames], of any length up to the longest."""
        named = {port.any_name: array for port, array in self._encoder(features).items()}
        return [Encoded(named.pop("encoded"), named)]

    def languages(self, windows: Sequence[Encoded]) -> list[dict[int, float]]:
        self._decoder.begin(windows)
        step = self._decoder.step([[self._tokens.start]] * len(windows), range(len(windows)), self._later)
        return [self._ranking(row[self._tokens.languages]) for row in step.logits]

    def _ranking(self, scores: Float) -> dict[int, float]:
        probabilities = np.exp(scores - _log_of_sum(scores)).tolist()
        ranking = sorted(zip(probabilities, self._tokens.languages, strict=True), reverse=True)
        return {token: probability for probability, token in ranking}

    def decode(
        self,
        windows: Sequence[Encoded],
        prompts: Sequence[list[int]],
        most: int,
        temperature: float,
        seeds: Sequence[int | None],
    ) -> list[Decoded]:
        width = _BEST_OF if temperature else self._beam_size
        searches = [Search(width, self._tokens.end, self._extends(temperature, seed)) for seed in seeds]
        self._decoder.begin(windows)
        heard, rows = prompts[0].index(self._tokens.start) + 1, range(len(windows))
        start = self._decoder.step([prompt[:heard] for prompt in prompts], rows, self._later)
        silent = [float(np.exp(row[self._tokens.no_speech] - _log_of_sum(row))) for row in start.logits]
        task = self._decoder.step([prompt[heard:] for prompt in prompts], rows, self._first)
        search_together(self._decoder, searches, width, task, most, self._later)
        queries = np.concatenate([start.queries[:, :, -1:], task.queries], axis=2)
        windows_found = zip(searches, silent, queries, strict=True)
        return [self._decoded(search.best(), silence, before) for search, silence, before in windows_found]

    def _extends(self, temperature: float, seed: int | None) -> Extends:
        if not temperature:
            return likeliest_first
        return samples(temperature, self._random if seed is None else np.random.default_rng(seed))

    def _decoded(self, best: Hypothesis, no_speech_prob: float, task: Float) -> Decoded:
        path = best.path()
        spoken = [hypothesis for hypothesis in path if hypothesis.token != self._tokens.end]
        # The query of a token is in the next hypothesis.
        queries = [hypothesis.queries for hypothesis in path[1:] if hypothesis.queries is not None]
        return Decoded(
            [hypothesis.token for hypothesis in spoken],
            best.total,
            no_speech_prob,
            [float(np.exp(hypothesis.logprob)) for hypothesis in spoken],
            np.concatenate([task, *queries], axis=1),
        )

    def align(
        self, windows: Sequence[Encoded], task: list[int], decoded: Sequence[Decoded], seconds: Sequence[float]
    ) -> list[Aligned]:
        return [
            self._aligned(window, len(task), text, max(1, round(end / SECONDS_PER_FRAME)))
            for window, text, end in zip(windows, decoded, seconds, strict=True)
        ]

    def _aligned(self, window: Encoded, task: int, decoded: Decoded, frames: int) -> Aligned:
        assert decoded.queries is not None
        keys = [_float32(window.attended[f"keys.{layer}"][0, head, :frames]) for layer, head in self._heads]
        starts = token_starts(decoded.queries, np.stack(keys), task) * SECONDS_PER_FRAME
        # A search that reached its limit has no query for the end of its last token.
        ends = [frames * SECONDS_PER_FRAME] * (len(decoded.tokens) + 1 - len(starts))
        return Aligned(np.append(starts, ends), decoded.probabilities)


class _Decoder:
    """The compiled graph of the decoder and its current windows; ``handed`` is the dtype of keys and values."""

    def __init__(self, graph: Any, handed: ov.Type, start: int) -> None:
        self._graph, self._handed = graph, handed
        self._request = graph.create_infer_request()
        self._attended: dict[str, Any] = {}
        self._decoded_tokens = 0
        self.vocabulary: int = graph.output("logits").partial_shape[1].get_length()
        self.candidates: int = graph.output("candidates").partial_shape[1].get_length()
        # The first run takes ten times as long. Do it before any caller waits.
        nothing = {}
        for port in graph.inputs:
            if port.any_name.startswith(HANDED):
                _, heads, _, width = port.partial_shape
                shape = (1, heads.get_length(), _FIRST_FRAMES, width.get_length())
                nothing[port.any_name] = np.zeros(shape, handed.to_dtype())
        self.begin([Encoded(np.zeros((1, 1, 1), np.float32), nothing)])
        self.step([[start]], [0], np.zeros(self.vocabulary, np.float32))

    def begin(self, windows: Sequence[Encoded]) -> None:
        """Forget earlier windows, and decode these."""
        # OpenVINO 2026.4 returns NaN if a request starts again with fewer rows than before. A new one costs 0.3 ms.
        self._request = self._graph.create_infer_request()
        self._decoded_tokens = 0
        names = windows[0].attended
        self._attend({name: np.concatenate([window.attended[name] for window in windows]) for name in names})

    def keep(self, windows: Sequence[int]) -> None:
        self._attend({name: array[windows] for name, array in self._attended.items()})

    def _attend(self, attended: dict[str, Any]) -> None:
        # Given with each step, they take up to a tenth of it. The request reads the arrays, which must stay alive.
        self._attended = attended
        for name, array in attended.items():
            self._request.set_tensor(name, ov.Tensor(array, array.shape, self._handed))

    def step(self, tokens: Sequence[Sequence[int]], parents: Sequence[int], bias: Float) -> Step:
        new = len(tokens[0])
        given = {
            "tokens": np.array(tokens, np.int32),
            "parents": np.array(parents, np.int32),
            "positions": np.arange(self._decoded_tokens, self._decoded_tokens + new, dtype=np.int32),
            "mask": np.triu(np.full((new, self._decoded_tokens + new), -1e9, np.float32), self._decoded_tokens + 1),
            "bias": bias,
        }
        answer = self._request.infer(given, share_inputs=True, share_outputs=True)
        self._decoded_tokens += new
        scores, candidates, log_sum = (answer[name] for name in ("scores", "candidates", "log_sum"))
        # The next step overwrites all outputs, but the queries are still needed after the last step.
        return Step(answer["logits"], scores, candidates, log_sum, answer["queries"].copy(), bias)


def _float32(array: NDArray[Any]) -> Float:
    """Convert bfloat16, which NumPy lacks: its bits are the upper half of a float32."""
    if array.dtype == np.float32:
        return array
    return (array.view(np.uint16).astype(np.uint32) << 16).view(np.float32)


def _log_of_sum(scores: Float) -> Any:
    most = scores.max()
    return most + np.log(np.exp(scores - most).sum())
