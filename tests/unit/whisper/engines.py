"""The engines of an export, and one that answers what a test wants and notes what it is asked."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scripts.export_models.triton_code import recognizer_module

SAMPLE_RATE = 16_000
# Of the parts of a window whose language is asked.
PART_FRAMES = 150
GOOD, BAD = -0.2, -1.5
LOUD, QUIET = 0.1, 0.9


def _settings(folder: Path) -> dict[str, Any]:
    settings: dict[str, Any] = json.loads((folder / "quartet.json").read_text(encoding="utf-8"))
    return settings


@cache
def tokens_of(folder: Path) -> Any:
    return recognizer_module("tokens").Tokens(folder, _settings(folder))


def openvino_engine(folder: Path, beam_size: int = 1) -> Any:
    settings = _settings(folder)
    return recognizer_module("openvino_engine").OpenVinoEngine(
        folder,
        tokens_of(folder),
        beam_size,
        heads=settings["alignment_heads"],
        flags=settings["processor_flags"],
        threads=2,
        frames=50 * settings["window_seconds"],
    )


def ctranslate_engine(folder: Path, beam_size: int = 1, *, device: str = "cpu", compute_type: str = "default") -> Any:
    """With one thread: its threads wait for each other in circles, which takes long where others compute too."""
    return recognizer_module("ctranslate_engine").CTranslateEngine(
        folder, tokens_of(folder), beam_size, device=device, device_index=0, compute_type=compute_type, threads=1
    )


@cache
def _log_mel() -> Any:
    return recognizer_module("features").LogMel(80)


def features_of(audio: NDArray[np.float32], seconds: int = 30) -> NDArray[np.float32]:
    """Features [1, mel bins, frames] of audio with silence up to these seconds."""
    features: NDArray[np.float32] = _log_mel()(audio, seconds * SAMPLE_RATE)[None]
    return features


def noise(seconds: float = 1.0, language: str = "en", **values: Any) -> Any:
    """A window of noise."""
    audio = np.random.default_rng(0).normal(0, 0.1, round(SAMPLE_RATE * seconds)).astype(np.float32)
    return recognizer_module().Window(audio, language=language, **values)


@dataclass(frozen=True)
class Said:
    """What a window says, and when each token of it and the end start; without ``starts`` half a second apart."""

    text: str
    avg_logprob: float = GOOD
    no_speech_prob: float = LOUD
    starts: Sequence[float] = ()


@dataclass
class Call:
    """A call of ``decode``: the windows by the order in which they were encoded, and what else was given."""

    windows: list[int]
    prompts: list[list[int]]
    most: int
    temperature: float


@dataclass
class ScriptedEngine:
    """Stands in for OpenVINO and CTranslate2: ``answer`` tells what window N says in a language at a temperature.

    Its times are those of the text, whatever temperature that came of.
    """

    tokens: Any
    answer: Callable[[int, str, float], Said] = lambda window, language, temperature: Said("hello")
    ranking: Mapping[str, float] = field(default_factory=lambda: {"fr": 0.99, "it": 0.01})
    # The probabilities of the parts of a window, in the order in which they are asked; empty: those of the whole.
    rankings_of_parts: list[Mapping[str, float]] = field(default_factory=list)
    encodes_together: bool = False
    decodes_together: int = 16
    encoded: list[NDArray[np.float32]] = field(default_factory=list)
    asked_for_languages: list[list[int]] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    seeds: list[list[int | None]] = field(default_factory=list)
    aligned: list[tuple[list[int], list[str], list[float]]] = field(default_factory=list)
    # The recognizer that asks this engine.
    recognizer: Any = None
    _said: dict[tuple[int, ...], Said] = field(default_factory=dict)

    def hear(self, *windows: Mapping[str, Any]) -> list[Any]:
        """The transcripts of windows of noise with these values."""
        return list(self.recognizer.transcribe([noise(**values) for values in windows]))

    def encode(self, features: NDArray[np.float32]) -> list[Any]:
        self.encoded.append(features)
        first = sum(len(each) for each in self.encoded[:-1])
        engines = recognizer_module("engines")
        frames = features.shape[-1] // 2
        return [engines.Encoded(np.full((1, frames, 1), first + at, np.float32)) for at in range(len(features))]

    def languages(self, windows: Sequence[Any]) -> list[dict[int, float]]:
        self.asked_for_languages.append(_numbers(windows))
        are_parts = windows[0].output.shape[1] == PART_FRAMES
        rankings = self.rankings_of_parts if are_parts else [self.ranking] * len(windows)
        return [{self.tokens.id(f"<|{code}|>"): each for code, each in ranking.items()} for ranking in rankings]

    def decode(
        self,
        windows: Sequence[Any],
        prompts: Sequence[list[int]],
        most: int,
        temperature: float,
        seeds: Sequence[int | None],
    ) -> list[Any]:
        self.seeds.append(list(seeds))
        self.calls.append(Call(_numbers(windows), list(prompts), most, temperature))
        return [
            self._decoded(self.answer(number, self.language_of(prompt), temperature))
            for number, prompt in zip(_numbers(windows), prompts, strict=True)
        ]

    def _decoded(self, said: Said) -> Any:
        ids = self.ids(f" {said.text}" if said.text else "")
        self._said[tuple(ids)] = said
        return recognizer_module("engines").Decoded(ids, said.avg_logprob * (len(ids) + 1), said.no_speech_prob)

    def align(
        self, windows: Sequence[Any], task: list[int], decoded: Sequence[Any], seconds: Sequence[float]
    ) -> list[Any]:
        said = [self._said[tuple(text.tokens)] for text in decoded]
        self.aligned.append((task, [each.text for each in said], list(seconds)))
        counts = [len(text.tokens) for text in decoded]
        starts = [one.starts or [0.5 * at for at in range(count + 1)] for one, count in zip(said, counts, strict=True)]
        aligned = recognizer_module("engines").Aligned
        return [aligned(np.array(times), [0.5] * count) for times, count in zip(starts, counts, strict=True)]

    def ids(self, text: str) -> list[int]:
        return list(self.tokens._tokenizer.encode(text, add_special_tokens=False).ids)

    def language_of(self, prompt: list[int]) -> str:
        return str(self.tokens.language_of(prompt[prompt.index(self.tokens.start) + 1]))

    @property
    def temperatures(self) -> list[float]:
        return [call.temperature for call in self.calls]


def _numbers(windows: Sequence[Any]) -> list[int]:
    return [int(window.output[0, 0, 0]) for window in windows]
