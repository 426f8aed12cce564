"""Synthetic speech to train the demo Whisper on: windows of sentences with the time of each.

Half of the sentences are spoken by the demo voices through their ONNX graphs, half by espeak-ng itself in several
variants, rates and pitches; some put the words of the vocabulary into other sentences than the grammar does. Then come
speed, gain, band limits, noise, pauses and windows without speech.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soxr
from numpy.typing import NDArray
from piper.phoneme_ids import phonemes_to_ids
from piper.phonemize_espeak import EspeakPhonemizer

from scripts.export_models.checkpoints import read_json
from scripts.export_models.demo.espeak import Espeak
from scripts.export_models.demo.sentences import LANGUAGES, load_grammar
from scripts.export_models.demo.voices import VOICES
from scripts.export_models.graphs.sessions import Arrays, here

SAMPLE_RATE = 16_000
_ESPEAK_VOICES = {"en": ("en-us", "en", "en-gb-x-rp"), "de": ("de",), "fr": ("fr", "fr-ch"), "it": ("it",)}
_VARIANTS = ["", *(f"+m{n}" for n in range(1, 8)), *(f"+f{n}" for n in range(1, 6))]
_SPEECH_LEVEL = 1e-3
_VARIED_SHARE = 0.35
_ESPEAK_SHARE = 0.5
# How espeak-ng's own command line speaks.
_PLAIN_SHARE = 0.4
_PLAIN_RATE, _PLAIN_PITCH, _PLAIN_RANGE = 175, 50, 50

Audio = NDArray[np.float32]


@dataclass(frozen=True)
class Span:
    """A sentence and the seconds ``[start, end)`` of the window it is spoken in."""

    text: str
    start: float
    end: float


@dataclass(frozen=True)
class Clip:
    """A training window: float32 audio of shape [samples] at 16 kHz, its language, prompt and sentences."""

    audio: Audio
    language: str
    prompt: str
    spans: tuple[Span, ...]


class Speakers:
    """Every voice the corpus has. ``say`` answers 16 kHz float32 audio of shape [samples]."""

    def __init__(self, repository: Path) -> None:
        """The demo voices are those of ``repository``, as exported."""
        self._espeak = Espeak()
        self._phonemizer = EspeakPhonemizer()
        folders = {voice.name: repository / f"piper_{voice.name}" / "1" for voice in VOICES}
        self._infer = {name: here(folder / "model.onnx", threads=1) for name, folder in folders.items()}
        self._configs = {name: read_json(folder / "voice.json") for name, folder in folders.items()}

    def demo_voice(self, text: str, name: str) -> Audio:
        config = self._configs[name]
        phonemes = self._phonemizer.phonemize(config["espeak"]["voice"], text)
        ids = np.array([[i for sentence in phonemes for i in phonemes_to_ids(sentence)]], np.int64)
        inputs: Arrays = {
            "input": ids,
            "input_lengths": np.array([ids.shape[1]], np.int64),
            "scales": np.array([0, 1, 0], np.float32),
        }
        return _resample(self._infer[name](inputs).reshape(-1), config["audio"]["sample_rate"], SAMPLE_RATE)

    def espeak(self, text: str, language: str, rng: random.Random) -> Audio:
        voice = rng.choice(_ESPEAK_VOICES[language])
        rate, pitch, pitch_range = _PLAIN_RATE, _PLAIN_PITCH, _PLAIN_RANGE
        if rng.random() > _PLAIN_SHARE:
            voice += rng.choice(_VARIANTS)
            rate, pitch = rng.randint(125, 200), rng.randint(20, 75)
            pitch_range = rng.choice([0, 30, 50, 70])
        spoken = self._espeak.speak(text, voice, rate=rate, pitch=pitch, pitch_range=pitch_range)
        samples = spoken.samples.astype(np.float32) / 32768
        return _resample(samples, self._espeak.sample_rate, SAMPLE_RATE)

    def say(self, text: str, language: str, rng: random.Random) -> Audio:
        if rng.random() < _ESPEAK_SHARE:
            audio = self.espeak(text, language, rng)
        else:
            names = [voice.name for voice in VOICES if voice.language == language]
            audio = self.demo_voice(text, rng.choice(names))
        if rng.random() < 0.5:
            audio = _resample(audio, SAMPLE_RATE, SAMPLE_RATE * rng.uniform(0.9, 1.1))
        return _trim(audio)


def _resample(audio: Audio, source: float, target: float) -> Audio:
    resampled: Audio = soxr.resample(audio, source, target, quality="LQ").astype(np.float32)
    return resampled


def _trim(audio: Audio) -> Audio:
    loud = np.flatnonzero(np.abs(audio) > _SPEECH_LEVEL)
    return audio[loud[0] : loud[-1] + 1] if len(loud) else audio[:0]


def _fragment(text: str, rng: random.Random) -> str:
    """Now and then the part of a sentence before or after a comma: a long recording is cut there too."""
    parts = text.split(", ")
    if len(parts) != 2 or rng.random() > 0.2:
        return text
    return parts[0] + "," if rng.random() < 0.5 else parts[1]


def _noise(length: int, rng: random.Random, generator: np.random.Generator) -> Audio:
    """White, pink or brown noise, or hum, of root mean square one."""
    kind = rng.choice(["white", "pink", "brown", "hum"])
    if kind == "hum":
        time = np.arange(length) / SAMPLE_RATE
        base = rng.choice([50, 60, 100, rng.uniform(80, 400)])
        noise = sum(np.sin(2 * np.pi * base * k * time) / k for k in (1, 2, 3))
    else:
        spectrum = np.fft.rfft(generator.standard_normal(length))
        power = {"white": 0.0, "pink": 0.5, "brown": 1.0}[kind]
        frequency = np.maximum(np.arange(len(spectrum)), length / SAMPLE_RATE * 20)
        noise = np.fft.irfft(spectrum / frequency**power, length)
    scaled: Audio = (noise / (np.sqrt(np.mean(np.square(noise))) + 1e-9)).astype(np.float32)
    return scaled


def _degrade(audio: Audio, rng: random.Random, generator: np.random.Generator) -> Audio:
    """Gain, telephone band and noise, each on a part of the windows."""
    if rng.random() < 0.15:
        audio = _resample(_resample(audio, SAMPLE_RATE, 8000), 8000, SAMPLE_RATE)
    if rng.random() < 0.6:
        level = np.sqrt(np.mean(np.square(audio))) + 1e-6
        ratio = 10 ** (-rng.uniform(8, 45) / 20)
        audio = audio + level * ratio * _noise(len(audio), rng, generator)
    peak = float(np.abs(audio).max()) + 1e-9
    return audio * np.float32(rng.uniform(0.05, 1.0) / peak)


class Corpus:
    """An endless, reproducible stream of windows for one seed (below one million)."""

    def __init__(self, repository: Path, seed: int, window_seconds: float) -> None:
        self._speakers = Speakers(repository)
        self._rng = random.Random(seed)
        self._generator = np.random.default_rng(seed)
        self._grammars = {language: load_grammar(language) for language in LANGUAGES}
        self._longest = int(window_seconds * SAMPLE_RATE)

    def __iter__(self) -> Iterator[Clip]:
        while True:
            yield self._silent_window() if self._rng.random() < 0.03 else self._spoken_window()

    def _silent_window(self) -> Clip:
        length = self._rng.randint(SAMPLE_RATE // 2, self._longest)
        audio = np.zeros(length, np.float32)
        if self._rng.random() < 0.8:
            level = 10 ** self._rng.uniform(-4, -0.7)
            audio = np.float32(level) * _noise(length, self._rng, self._generator)
        return Clip(audio, self._rng.choice(LANGUAGES), "", ())

    def _spoken_window(self) -> Clip:
        rng = self._rng
        language = rng.choice(LANGUAGES)
        grammar = self._grammars[language]
        wanted = rng.choices([1, 2, 3, 4], [6, 3, 1, 0.4])[0]
        pieces: list[Audio] = [np.zeros(int(rng.uniform(0, 0.6) * SAMPLE_RATE), np.float32)]
        length = len(pieces[0])
        spans: list[Span] = []
        while len(spans) < wanted:
            varied = rng.random() < _VARIED_SHARE
            text = _fragment(grammar.variation(rng) if varied else grammar.sentence(rng), rng)
            audio = self._speakers.say(text, language, rng)
            gap = int(rng.uniform(0.1, 0.8) * SAMPLE_RATE)
            if length + len(audio) + gap > self._longest:
                if spans:
                    break
                continue
            spans.append(Span(text, length / SAMPLE_RATE, (length + len(audio)) / SAMPLE_RATE))
            pieces += [audio, np.zeros(gap, np.float32)]
            length += len(audio) + gap
        if rng.random() < 0.1:
            pieces.append(np.zeros(rng.randint(0, self._longest - length), np.float32))
        prompt = grammar.sentence(rng) if rng.random() < 0.12 else ""
        audio = _degrade(np.concatenate(pieces), rng, self._generator)
        return Clip(audio, language, prompt, tuple(spans))
