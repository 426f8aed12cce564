"""The demo's own voices: diphones of espeak-ng inside an ONNX graph with Piper's tensors and JSON.

    python -m scripts.export_models.demo.voices OUTPUT_FOLDER

A file has Piper's inputs ``input`` INT64 [1, ids], ``input_lengths`` INT64 [1], ``scales`` FP32 [3] and the output
FP32 [1, 1, 1, samples].
"""

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
import soxr
from numpy.typing import NDArray
from piper.phoneme_ids import DEFAULT_PHONEME_ID_MAP
from tqdm import tqdm

from frontend.catalogue import voices as catalogue
from scripts.export_models.checkpoints import VOICE_FILES
from scripts.export_models.demo.espeak import Espeak, Utterance
from scripts.export_models.demo.published import REAL_VOICE
from scripts.export_models.demo.sentences import sentences
from scripts.export_models.demo.units import Diphone, choose, cut
from scripts.export_models.demo.voice_graph import IDS, build_graph, pool

_CORPUS_SEED = 11
_CORPUS_SENTENCES = 260
_SYLLABLES = {
    "en": ["b", "d", "f", "g", "h", "k", "l", "m", "n", "p", "r", "s", "sh", "t", "th", "v", "w", "y", "z"],
    "de": ["b", "d", "f", "g", "h", "k", "l", "m", "n", "p", "r", "s", "sch", "t", "w", "z", "pf", "j"],
    "fr": ["b", "d", "f", "g", "ch", "k", "l", "m", "n", "p", "r", "s", "t", "v", "z", "gn", "j"],
    "it": ["b", "d", "f", "g", "gh", "c", "l", "m", "n", "p", "r", "s", "t", "v", "z", "gn", "sc"],
}
_VOWELS = {
    "en": ["a", "ee", "oo", "i", "o", "u", "ay", "ow"],
    "de": ["a", "e", "i", "o", "u", "ä", "ö", "ü", "ei", "au", "eu"],
    "fr": ["a", "é", "i", "o", "ou", "u", "eu", "an", "on", "in", "oi"],
    "it": ["a", "e", "i", "o", "u", "ia", "io"],
}


_ESPEAK_VOICES = {"en": "en-us"}


class Sound(NamedTuple):
    """How a voice sounds: its espeak-ng variant, pitch (0 to 100), rate (words per minute), sample rate (Hz)."""

    variant: str
    pitch: int
    rate: int = 150
    sample_rate: int = 22050


@dataclass(frozen=True)
class DemoVoice:
    """A voice of the catalogue."""

    name: str
    language: str
    sound: Sound

    @property
    def espeak_voice(self) -> str:
        return _ESPEAK_VOICES.get(self.language, self.language)


_SOUNDS = {
    "paola": Sound("f2", 60),
    "riccardo": Sound("m3", 38, 155, 16000),
    "amy": Sound("f3", 58),
    "thorsten": Sound("m3", 34, 145),
    "siwis": Sound("f4", 62),
}
# For voices without an entry above.
_SOUNDS_BY_GENDER = {"female": Sound("f1", 56), "male": Sound("m1", 40)}
VOICES = tuple(
    DemoVoice(voice.name, voice.language, _SOUNDS.get(voice.name, _SOUNDS_BY_GENDER[voice.gender]))
    for voice in catalogue.VOICES.values()
)
# The real voice is downloaded.
BUILT = tuple(voice for voice in VOICES if voice.name != REAL_VOICE)


def _corpus(language: str) -> list[str]:
    """Text with almost every pair of sounds of a language: sentences, then made-up words."""
    lines = list(sentences(language, _CORPUS_SEED, _CORPUS_SENTENCES))
    vowels = _VOWELS[language]
    for index, onset in enumerate(_SYLLABLES[language]):
        words = [
            onset + vowel + _SYLLABLES[language][(index + step) % len(_SYLLABLES[language])] + "a"
            for step, vowel in enumerate(vowels)
        ]
        lines.append(" ".join(words))
    return lines


def _pitch_period(samples: NDArray[np.int16], sample_rate: int) -> int:
    """The pitch period in samples, from the highest peak of the autocorrelation (70 to 350 Hz)."""
    window = samples[: 4 * sample_rate].astype(np.float64)
    spectrum = np.abs(np.fft.rfft(window, 2 * len(window))) ** 2
    correlation = np.fft.irfft(spectrum)
    low, high = sample_rate // 350, sample_rate // 70
    return low + int(correlation[low:high].argmax())


def _record(espeak: Espeak, voice: DemoVoice) -> tuple[dict[tuple[str, str], Diphone], int]:
    """The chosen diphones of a voice at its own sample rate, and its pitch period in samples."""
    found = []
    espeak.seed(_CORPUS_SEED)
    period = 0
    scale = voice.sound.sample_rate / espeak.sample_rate
    for text in _corpus(voice.language):
        spoken = espeak.speak(
            text,
            f"{voice.espeak_voice}+{voice.sound.variant}",
            rate=voice.sound.rate,
            pitch=voice.sound.pitch,
            pitch_range=0,
        )
        if scale != 1:
            resampled = soxr.resample(spoken.samples, espeak.sample_rate, voice.sound.sample_rate)
            phones = [type(p)(p.name, int(p.start * scale), int(p.end * scale)) for p in spoken.phones]
            spoken = Utterance(resampled, phones)
        period = period or _pitch_period(spoken.samples, voice.sound.sample_rate)
        found += list(cut(spoken, period, voice.sound.sample_rate))
    return choose(found), period


def config(voice: DemoVoice) -> dict[str, Any]:
    """The ``.onnx.json`` of a voice, with the keys of Piper's files."""
    return {
        "audio": {"sample_rate": voice.sound.sample_rate, "quality": "demo"},
        "espeak": {"voice": voice.espeak_voice},
        "language": {"code": voice.language},
        "inference": {"noise_scale": 0.0, "length_scale": 1.0, "noise_w": 0.0},
        "phoneme_type": "espeak",
        "phoneme_map": {},
        "phoneme_id_map": DEFAULT_PHONEME_ID_MAP,
        "num_symbols": IDS,
        "num_speakers": 1,
        "speaker_id_map": {},
    }


def build(voice: DemoVoice, espeak: Espeak, folder: Path) -> Path:
    """Write the voice below ``folder`` under Piper's name, with its JSON next to it; returns the graph's path."""
    diphones, period = _record(espeak, voice)
    model = build_graph(pool(diphones, period, voice.sound.sample_rate), period)
    path = folder / f"{VOICE_FILES[voice.name]}.onnx"
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, str(path))
    settings = json.dumps(config(voice), ensure_ascii=False, indent=1)
    path.with_name(f"{path.name}.json").write_text(settings, encoding="utf-8")
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the demo voices.")
    parser.add_argument("output", type=Path)
    arguments = parser.parse_args()
    espeak = Espeak()
    for voice in tqdm(BUILT, desc="building demo voices", unit="voice"):
        build(voice, espeak, arguments.output)


if __name__ == "__main__":
    main()
