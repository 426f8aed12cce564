"""Decodes greedily with OpenVINO, where a processor encodes with it: CTranslate2 takes twice as long there."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import openvino as ov
from encoders import FIRST_FRAMES, Encoded, Float
from graphs import HANDED

LATEST_FIRST_TIMESTAMP = 50
_NEVER = np.float32(-np.inf)


@dataclass(frozen=True)
class Decoded:
    """The ``tokens`` of a window without task and end, the sum of their log probabilities, and that of no speech."""

    tokens: list[int]
    logprob: float
    no_speech_prob: float


@dataclass(frozen=True)
class Special:
    """Tokens with a meaning; ``suppressed`` ones are never said, and from ``first_timestamp`` on all are times."""

    start: int
    end: int
    no_speech: int
    first_timestamp: int
    suppressed: Sequence[int]
    languages: Sequence[int]

    def rule_out(self, scores: Float, told: Sequence[int]) -> None:
        """Of the next token's ``scores`` [vocabulary], make those never come that cannot follow on ``told``.

        The rules are those of OpenAI's decoding: times come in pairs around each segment and never go back.
        """
        times = self.first_timestamp
        # The one before the first time asks for none.
        scores[[*self.suppressed, times - 1]] = _NEVER
        if not told:
            scores[:times] = _NEVER
            scores[times + LATEST_FIRST_TIMESTAMP + 1 :] = _NEVER
            return
        if told[-1] >= times:
            if len(told) == 1 or told[-2] >= times:
                scores[times:] = _NEVER
            else:
                scores[: self.end] = _NEVER
        latest = next((token for token in reversed(told) if token >= times), times)
        scores[times:latest] = _NEVER
        if _log_of_sum(scores[times:]) > scores[:times].max():
            scores[:times] = _NEVER


@dataclass
class _Windows:
    """Windows that are decoded together: what their tokens attend to, by the names of the graph's inputs."""

    attended: dict[str, Any]
    past: dict[str, Float] = field(default_factory=dict)
    tokens: int = 0

    @classmethod
    def of(cls, windows: Sequence[Encoded]) -> "_Windows":
        names = windows[0].attended
        return cls({name: np.concatenate([window.attended[name] for window in windows]) for name in names})

    def keep(self, rows: list[int]) -> None:
        """Leave out all windows but these."""
        self.attended = {name: array[rows] for name, array in self.attended.items()}
        self.past = {name: array[rows] for name, array in self.past.items()}


class GraphDecoder:
    """The graph that ``scripts/export_models/whisper/decoder.py`` writes, compiled; ``handed`` is the dtype of keys."""

    def __init__(self, graph: Any, handed: ov.Type, special: Special) -> None:
        self._request, self._handed, self._special = graph.create_infer_request(), handed, special
        self._new = [port.any_name for port in graph.outputs if port.any_name.startswith("new_")]
        (_, heads, _, width) = graph.input(self._new[0].replace("new", "past")).partial_shape
        self._nothing = (heads.get_length(), 0, width.get_length())
        # Its first run takes ten times as long as others: no caller waits for it.
        self._step(_Windows(dict(self._blanks(graph))), [[special.start]])

    def _blanks(self, graph: Any) -> Iterator[tuple[str, Any]]:
        """What tokens attend to in a short window in which nothing is."""
        for port in graph.inputs:
            if port.any_name.startswith(HANDED):
                _, *sizes = port.partial_shape
                shape = [1, *(FIRST_FRAMES if size.is_dynamic else size.get_length() for size in sizes)]
                yield port.any_name, np.zeros(shape, self._handed.to_dtype())

    def languages(self, windows: Sequence[Encoded]) -> list[int]:
        """The likeliest language token of each window."""
        scores = self._step(_Windows.of(windows), [[self._special.start]] * len(windows))
        return [self._special.languages[row[list(self._special.languages)].argmax()] for row in scores]

    def decode(self, windows: Sequence[Encoded], prompts: list[list[int]], most: int) -> list[Decoded]:
        """At most so many tokens for each window; all prompts have their start token at one place."""
        its, special = _Windows.of(windows), self._special
        heard = prompts[0].index(special.start) + 1
        scores = self._step(its, [prompt[:heard] for prompt in prompts])
        silent = [float(np.exp(row[special.no_speech] - _log_of_sum(row))) for row in scores]
        scores = self._step(its, [prompt[heard:] for prompt in prompts])
        told: list[list[int]] = [[] for _ in prompts]
        logprobs = [0.0] * len(prompts)
        going = list(range(len(prompts)))
        for left in reversed(range(most)):
            going_on = []
            for row, window in enumerate(going):
                special.rule_out(scores[row], told[window])
                token = int(scores[row].argmax())
                logprobs[window] += float(scores[row][token] - _log_of_sum(scores[row]))
                if token != special.end:
                    told[window].append(token)
                    going_on.append(row)
            if not (going_on and left):
                break
            if len(going_on) < len(going):
                its.keep(going_on)
                going = [going[row] for row in going_on]
            scores = self._step(its, [told[window][-1:] for window in going])
        return [Decoded(*each) for each in zip(told, logprobs, silent, strict=True)]

    def _step(self, windows: _Windows, tokens: list[list[int]]) -> Float:
        """The scores [windows, vocabulary] of what follows on new tokens, as many for each window."""
        count, new = len(tokens), len(tokens[0])
        past = windows.past or {name: np.zeros((count, *self._nothing), np.float32) for name in self._new}
        given = {name.replace("new", "past"): array for name, array in past.items()}
        for name, array in windows.attended.items():
            given[name] = ov.Tensor(array, array.shape, self._handed)
        given["tokens"] = np.array(tokens, np.int32)
        given["positions"] = np.arange(windows.tokens, windows.tokens + new, dtype=np.int32)
        given["mask"] = np.triu(np.full((new, windows.tokens + new), -1e9, np.float32), windows.tokens + 1)
        answer = self._request.infer(given, share_inputs=True, share_outputs=True)
        windows.past = {name: np.concatenate([past[name], answer[name]], axis=2) for name in self._new}
        windows.tokens += new
        return np.array(answer["logits"])


def _log_of_sum(scores: Float) -> Any:
    most = scores.max()
    return most + np.log(np.exp(scores - most).sum()) if np.isfinite(most) else most
