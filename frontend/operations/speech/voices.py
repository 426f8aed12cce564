"""The settings of an exported voice: phoneme alphabet, sample rate, and the inputs of its model."""

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from frontend.catalogue.voices import Voice
from frontend.text.alphabets import Alphabet, KokoroAlphabet, PiperAlphabet

Inputs = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class ExportedVoice(ABC):
    """An exported voice, and its ``model`` and the model's ``output`` in Triton.

    ``accent`` is the language of the speaker, if it is another than the voice's. ``sample`` is a WAV file of a
    sentence, empty in old exports. An utterance is made as loud as one can be, unless its peak is under ``least_peak``.
    """

    model: str
    output: str
    alphabet: Alphabet
    sample_rate: int
    accent: str = ""
    sample: bytes = field(default=b"", repr=False)

    least_peak: ClassVar[float]

    @abstractmethod
    def inputs(self, ids: list[int], speed: float) -> Inputs:
        """The model's inputs for a sentence. ``speed`` divides the length of its sounds."""


@dataclass(frozen=True)
class PiperVoice(ExportedVoice):
    """A voice of Piper. ``scales`` are noise, length and duration noise, in Piper's order."""

    # Piper's own value.
    least_peak = 0.01

    scales: tuple[float, float, float] = (0.667, 1.0, 0.8)
    multi_speaker: bool = False

    @classmethod
    def load(cls, voice: Voice, folder: Path) -> "PiperVoice":
        """Read ``voice.json``, a copy of Piper's ``.onnx.json``. Old files lack some keys."""
        settings = json.loads((folder / "voice.json").read_text(encoding="utf-8"))
        inference, usual = settings.get("inference", {}), cls.scales
        names = ("noise_scale", "length_scale", "noise_w")
        noise, length, duration = (float(inference.get(*each)) for each in zip(names, usual, strict=True))
        return cls(
            model=voice.triton_model,
            output="output",
            alphabet=PiperAlphabet(voice.language, settings["espeak"]["voice"], settings["phoneme_id_map"]),
            sample_rate=int(settings["audio"]["sample_rate"]),
            sample=_bytes_of(folder / "sample.wav"),
            scales=(noise, length, duration),
            multi_speaker=int(settings.get("num_speakers", 1)) > 1,
        )

    def inputs(self, ids: list[int], speed: float) -> Inputs:
        noise, length, duration_noise = self.scales
        inputs: Inputs = {
            "input": np.array([ids], np.int64),
            "input_lengths": np.array([len(ids)], np.int64),
            "scales": np.array((noise, length / speed, duration_noise), np.float32),
        }
        if self.multi_speaker:
            inputs["sid"] = np.zeros(1, np.int64)
        return inputs


@dataclass(frozen=True)
class KokoroVoice(ExportedVoice):
    """A voice of Kokoro. ``styles`` FP32 [lengths, 256] has how it speaks a number of symbols, from one on."""

    # The parts of a sentence keep their loudness, if they are not louder than usual.
    least_peak = 0.4

    styles: NDArray[np.float32] = field(default_factory=lambda: np.zeros((1, 256), np.float32), repr=False)

    @classmethod
    def load(cls, voice: Voice, folder: Path) -> "KokoroVoice":
        """Read ``voices.json`` of the model, and the files of the voice next to it."""
        settings = json.loads((folder / "voices.json").read_text(encoding="utf-8"))
        own = settings["voices"][voice.name]
        return cls(
            model=voice.triton_model,
            output="audio",
            alphabet=KokoroAlphabet(voice.language, own["espeak"], settings["ids"]),
            sample_rate=int(settings["sample_rate"]),
            accent=own["accent"],
            sample=_bytes_of(folder / f"{voice.name}.wav"),
            styles=np.load(folder / f"{voice.name}.npy"),
        )

    def inputs(self, ids: list[int], speed: float) -> Inputs:
        # The first row is for one symbol, and two of the ids are none.
        style = self.styles[min(len(ids) - 3, len(self.styles) - 1)]
        return {"tokens": np.array(ids, np.int64), "style": style, "speed": np.array([speed], np.float32)}


def load(voice: Voice, repository: Path) -> ExportedVoice:
    """Read the files of a voice in a model repository."""
    folder = repository / voice.triton_model / "1"
    return (KokoroVoice if voice.of_kokoro else PiperVoice).load(voice, folder)


def _bytes_of(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() else b""
