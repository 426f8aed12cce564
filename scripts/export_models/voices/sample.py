"""A sample of each voice, spoken at its export, so that to hear it costs nothing later."""

import re
import wave
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from piper.phoneme_ids import phonemes_to_ids
from piper.phonemize_espeak import EspeakPhonemizer

_SENTENCES = {
    "de": "Guten Morgen! So klingt meine Stimme. Schön, dass Sie da sind.",
    "en": "Good morning! This is how my voice sounds. It is nice to meet you.",
    "fr": "Bonjour ! Voici le son de ma voix. Ravi de faire votre connaissance.",
    "it": "Buongiorno! Questo è il suono della mia voce. È un piacere conoscerla.",
}
# espeak-ng reads numbers in every language.
_COUNTING = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10."
_PAUSE_SECONDS = 0.2


def write(path: Path, session: Any, voice: Mapping[str, Any]) -> None:
    """Let a voice speak in its language, and write that as a WAV file. ``voice`` is its description."""
    espeak_voice, rate = voice["espeak"]["voice"], int(voice["audio"]["sample_rate"])
    text = _SENTENCES.get(re.split("[-_]", espeak_voice)[0], _COUNTING)
    pause = np.zeros(int(_PAUSE_SECONDS * rate), np.float32)
    parts = []
    for symbols in EspeakPhonemizer().phonemize(espeak_voice, text):
        parts += [_spoken(session, voice, phonemes_to_ids(symbols, voice["phoneme_id_map"])), pause]
    samples = np.clip(np.concatenate(parts[:-1]), -1, 1) * 32767
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(samples.astype("<i2").tobytes())


def _spoken(session: Any, voice: Mapping[str, Any], ids: list[int]) -> Any:
    """The samples of a sentence. The inputs are those of the frontend, so that a file that does not fit them fails."""
    inference = voice.get("inference", {})
    scales = [inference.get("noise_scale", 0.667), inference.get("length_scale", 1.0), inference.get("noise_w", 0.8)]
    inputs = {
        "input": np.array([ids], np.int64),
        "input_lengths": np.array([len(ids)], np.int64),
        "scales": np.array(scales, np.float32),
    }
    if int(voice.get("num_speakers", 1)) > 1:
        inputs["sid"] = np.zeros(1, np.int64)
    return session.run(None, inputs)[0].reshape(-1)
