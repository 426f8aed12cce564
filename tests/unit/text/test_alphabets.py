"""What voices get for the phonemes of espeak-ng."""

import json
from pathlib import Path

import pytest

from frontend.catalogue.kokoro import DEMO_SPEAKERS, Speaker
from frontend.text.alphabets import KokoroAlphabet
from frontend.text.phonemes import load_phonemizer
from scripts.export_models import kokoro
from tests.conftest import ROOT

IDS = json.loads(Path(kokoro.__file__).with_name("symbols.json").read_text(encoding="utf-8"))
TEXTS = (ROOT / "scripts/export_models/calibration.txt").read_text(encoding="utf-8").splitlines()
SPEAKERS = [*DEMO_SPEAKERS, *(Speaker.of(style, style) for style in ("bf_emma", "ef_dora", "hf_alpha", "pf_dora"))]


def _symbols(espeak_voice: str, text: str) -> str:
    alphabet = KokoroAlphabet("", espeak_voice, IDS)
    clauses = load_phonemizer().phonemize(espeak_voice, text)
    return "".join(symbol for clause in clauses for symbol in alphabet.symbols(clause))


@pytest.mark.parametrize(
    ("espeak_voice", "text", "symbols"),
    [
        ("en-us", "Hello, how are you today?", "həlˈO, hˌW ɑɹ ju tədˈA?"),
        ("en-us", "The church bird has a button.", "ðə ʧˈɜɹʧ bˈɜɹd həz ə bˈʌtn."),
        ("en-gb-x-rp", "The air is fine, go home.", "ðɪ ˈɛːɹ ɪz fˈIn, ɡˌQ hˈQm."),
        ("it", "La pizza è già pronta.", "la pˈiʦːa e ʤˈa pɾˈonta."),
        ("de", "Die Zeit vergeht, fünf Katzen.", "diː ʦˈIt fɛɾɡˈeːt, fˈynf kˈaʦən."),
        # The nasal vowels keep their mark, and ç is one symbol.
        ("fr", "Un bon vin.", "œ̃ bˈɔ̃ vˈɛ̃."),
        ("de", "Ich.", "ɪç."),
        # No affricates: two sounds of two words.
        ("es", "Los chicos, los sabios.", "los ʧˈikos, los sˈaβjos."),
    ],
)
def test_kokoro_gets_the_symbols_it_was_trained_on(espeak_voice: str, text: str, symbols: str) -> None:
    assert _symbols(espeak_voice, text) == symbols


@pytest.mark.parametrize("speaker", SPEAKERS, ids=lambda speaker: f"{speaker.style}-{speaker.voice.language}")
def test_kokoro_knows_nearly_every_symbol_of_each_language(speaker: Speaker) -> None:
    said = "".join(_symbols(speaker.espeak_voice, text) for text in TEXTS)
    unknown = [symbol for symbol in said if symbol not in IDS]
    assert len(unknown) < 0.002 * len(said), sorted(set(unknown))
