"""A sample of each voice, spoken at its export, so that to hear it costs nothing later."""

import re
import wave
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from piper.phonemize_espeak import EspeakPhonemizer

from frontend.text.alphabets import Alphabet

_SENTENCES = {
    "de": "Guten Morgen! So klingt meine Stimme. Schön, dass Sie da sind.",
    "en": "Good morning! This is how my voice sounds. It is nice to meet you.",
    "es": "¡Buenos días! Así suena mi voz. Encantado de conocerle.",
    "fr": "Bonjour ! Voici le son de ma voix. Ravi de faire votre connaissance.",
    "it": "Buongiorno! Questo è il suono della mia voce. È un piacere conoscerla.",
    "pt": "Bom dia! Este é o som da minha voz. É um prazer conhecer você.",
}
# espeak-ng reads numbers in every language.
_COUNTING = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10."
_PAUSE_SECONDS = 0.2


def write(path: Path, alphabet: Alphabet, rate: int, speak: Callable[[list[int]], NDArray[np.float32]]) -> None:
    """Let a voice speak in its language, and write that as a WAV file of ``rate`` Hz.

    ``speak`` makes FP32 [samples] of the ids of a sentence.
    """
    text = _SENTENCES.get(re.split("[-_]", alphabet.espeak_voice)[0], _COUNTING)
    pause = np.zeros(int(_PAUSE_SECONDS * rate), np.float32)
    parts = []
    for phonemes in _phonemizer().phonemize(alphabet.espeak_voice, text):
        parts += [speak(alphabet.to_ids(alphabet.symbols(phonemes))), pause]
    samples = np.clip(np.concatenate(parts[:-1]), -1, 1) * 32767
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(samples.astype("<i2").tobytes())


@cache
def _phonemizer() -> EspeakPhonemizer:
    """Loaded once, because espeak-ng keeps pointers to what a second load frees."""
    return EspeakPhonemizer()
