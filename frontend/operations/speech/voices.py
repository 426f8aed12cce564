"""The settings of an exported voice: phoneme alphabet, sample rate, scales."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frontend.catalogue.voices import Voice
from frontend.text.phonemes import Alphabet


@dataclass(frozen=True)
class PiperVoice:
    """An exported voice. ``scales`` are noise, length and duration noise, in Piper's order.

    A ``robot`` is a synthetic voice of the demo. ``sample`` is a WAV file of a sentence, empty in old exports.
    """

    model: str
    alphabet: Alphabet
    sample_rate: int
    scales: tuple[float, float, float]
    multi_speaker: bool
    robot: bool = False
    sample: bytes = field(default=b"", repr=False)

    @classmethod
    def load(cls, voice: Voice, repository: Path) -> "PiperVoice":
        """Read ``voice.json``, a copy of Piper's ``.onnx.json``. Old files lack some keys."""
        folder = repository / voice.triton_model / "1"
        settings = json.loads((folder / "voice.json").read_text(encoding="utf-8"))
        sample = folder / "sample.wav"
        inference = settings.get("inference", {})
        return cls(
            model=voice.triton_model,
            alphabet=Alphabet(voice.language, settings["espeak"]["voice"], settings["phoneme_id_map"]),
            sample_rate=int(settings["audio"]["sample_rate"]),
            scales=(
                float(inference.get("noise_scale", 0.667)),
                float(inference.get("length_scale", 1.0)),
                float(inference.get("noise_w", 0.8)),
            ),
            multi_speaker=int(settings.get("num_speakers", 1)) > 1,
            robot=settings["audio"].get("quality") == "demo",
            sample=sample.read_bytes() if sample.is_file() else b"",
        )

    def inputs(self, ids: list[int], speed: float) -> dict[str, NDArray[Any]]:
        """The model's inputs for a sentence. ``speed`` divides the length of its sounds."""
        noise, length, duration_noise = self.scales
        inputs: dict[str, NDArray[Any]] = {
            "input": np.array([ids], np.int64),
            "input_lengths": np.array([len(ids)], np.int64),
            "scales": np.array((noise, length / speed, duration_noise), np.float32),
        }
        if self.multi_speaker:
            inputs["sid"] = np.zeros(1, np.int64)
        return inputs
