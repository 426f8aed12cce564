"""Text to Piper's phoneme ids, sentence by sentence.

It runs in a worker process, since espeak-ng keeps its state in globals and leaks a little.

The rules are Piper's (piper1-gpl, ``phoneme_ids.py``): start, pad, then each known symbol followed by a pad, then end.
"""

from dataclasses import dataclass
from functools import cache

from piper.phonemize_espeak import EspeakPhonemizer

from frontend.text.sentences import split

MOST_IDS = 400
_START, _END, _PAD = "^", "$", "_"
_NOT_SOUNDS = frozenset(" .,:;!?'\"()-^$_ˈˌ")


@dataclass(frozen=True)
class Alphabet:
    """What the phonemizer needs of a voice: its language, and of its JSON espeak-ng's name for it and its symbols."""

    language: str
    espeak_voice: str
    ids: dict[str, list[int]]


@cache
def load_phonemizer() -> EspeakPhonemizer:
    """That of this worker process, with espeak-ng's data, so that the first text does not wait for it."""
    return EspeakPhonemizer()


def _cut(symbols: list[str], most: int) -> list[list[str]]:
    """Cut a long run of symbols at spaces, so that a run of the model stays small."""
    chunks: list[list[str]] = []
    while len(symbols) > most:
        spaces = [place for place in range(most // 2, most) if symbols[place] == " "]
        place = spaces[-1] + 1 if spaces else most
        chunks.append(symbols[:place])
        symbols = symbols[place:]
    return [*chunks, symbols]


def _to_ids(symbols: list[str], alphabet: Alphabet) -> list[int]:
    ids = [*alphabet.ids[_START], *alphabet.ids[_PAD]]
    for symbol in symbols:
        if symbol in alphabet.ids:
            ids += [*alphabet.ids[symbol], *alphabet.ids[_PAD]]
    return [*ids, *alphabet.ids[_END]]


def phonemize(sentences: list[str], alphabet: Alphabet) -> list[list[int]]:
    """Phoneme ids of the sentences, at most ``MOST_IDS`` in a list; what cannot be spoken gives none."""
    result: list[list[int]] = []
    for sentence in sentences:
        # espeak-ng's strings end with it.
        plain = sentence.replace("\0", "")
        for symbols in load_phonemizer().phonemize(alphabet.espeak_voice, plain):
            for chunk in _cut(symbols, MOST_IDS // 2 - 2):
                if any(symbol in alphabet.ids and symbol not in _NOT_SOUNDS for symbol in chunk):
                    result.append(_to_ids(chunk, alphabet))
    return result


def phonemize_first(text: str, alphabet: Alphabet) -> list[list[int]]:
    """Phoneme ids of a text's first sentence."""
    return phonemize(split(text, alphabet.language)[:1], alphabet)


def phonemize_rest(text: str, alphabet: Alphabet) -> list[list[int]]:
    """Phoneme ids of its other sentences."""
    return phonemize(split(text, alphabet.language)[1:], alphabet)
