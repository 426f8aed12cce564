"""Text to Piper's phoneme ids, sentence by sentence.

It runs in a worker process, since espeak-ng keeps its state in globals and leaks a little.

The rules are Piper's (piper1-gpl, ``phoneme_ids.py``): start, pad, then each known symbol followed by a pad, then end.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from piper.phonemize_espeak import EspeakPhonemizer

from frontend.text.sentences import split

MOST_IDS = 400
_START, _END, _PAD = "^", "$", "_"
# Most symbols per call. Each takes two ids; the start, its pad and the end take three.
_MOST_SYMBOLS = MOST_IDS // 2 - 2
# The same for what is spoken first: about three seconds of sound, for which a processor takes a sixth of a second.
_MOST_FIRST_SYMBOLS = 78
_NOT_SOUNDS = frozenset(" .,:;!?'\"()-^$_ˈˌ")
_CLAUSE_ENDS = frozenset(",;:")
_SENTENCE_ENDS = frozenset(".!?")


@dataclass(frozen=True)
class Alphabet:
    """A voice's language, and the espeak-ng name and symbols from its JSON."""

    language: str
    espeak_voice: str
    ids: dict[str, list[int]]


@dataclass(frozen=True)
class Utterance:
    """A sentence, or a part of a long one; ``ends`` marks the end of a sentence."""

    ids: list[int]
    ends: bool = True


@cache
def load_phonemizer() -> EspeakPhonemizer:
    """The phonemizer of this worker process, with espeak-ng's data loaded."""
    return EspeakPhonemizer()


def phonemize(text: str, alphabet: Alphabet) -> list[Utterance]:
    """Utterances of at most ``MOST_IDS`` phoneme ids, in order. Text that cannot be spoken gives none."""
    return phonemize_sentences(split(text, alphabet.language), alphabet)


def phonemize_sentences(sentences: Sequence[str], alphabet: Alphabet) -> list[Utterance]:
    """The utterances of sentences that are split already."""
    return [utterance for sentence in sentences for utterance in _utterances(sentence, alphabet, _MOST_SYMBOLS)]


def phonemize_first(text: str, alphabet: Alphabet) -> tuple[list[Utterance], list[str]]:
    """The utterances of the first sentence, of which the first is short, and the other sentences."""
    sentences = split(text, alphabet.language)
    for position, sentence in enumerate(sentences, 1):
        if utterances := _utterances(sentence, alphabet, _MOST_FIRST_SYMBOLS):
            return utterances, sentences[position:]
    return [], []


def _utterances(sentence: str, alphabet: Alphabet, first: int) -> list[Utterance]:
    """The parts of a sentence that have sounds. The first part has at most ``first`` symbols."""
    symbols = _as_one(load_phonemizer().phonemize(alphabet.espeak_voice, sentence))
    parts = [part for part in _parts(symbols, first) if any(_is_sound(symbol, alphabet) for symbol in part)]
    return [Utterance(_to_ids(part, alphabet), position == len(parts)) for position, part in enumerate(parts, 1)]


def _as_one(clauses: list[list[str]]) -> list[str]:
    """Join the clauses of a sentence. espeak-ng may take it for several sentences; their ends are no pauses."""
    symbols: list[str] = []
    for position, clause in enumerate(clauses, 1):
        while position < len(clauses) and clause and clause[-1] in _SENTENCE_ENDS:
            clause = clause[:-1]
        symbols += [" ", *clause] if symbols else clause
    return symbols


def _parts(symbols: Sequence[str], most: int) -> list[Sequence[str]]:
    """Cut long sentences into parts of similar length, after a clause if one ends near, otherwise at a space.

    The first part has at most ``most`` symbols.
    """
    count = -(-len(symbols) // most)
    if count < 2:
        return [symbols]
    target = len(symbols) // count
    spaces = [position for position in range(target // 2, most) if symbols[position] == " "]
    clauses = [position for position in spaces if symbols[position - 1] in _CLAUSE_ENDS]
    at = min(clauses or spaces, key=lambda position: abs(position - target), default=most - 1) + 1
    return [symbols[:at], *_parts(symbols[at:], _MOST_SYMBOLS)]


def _is_sound(symbol: str, alphabet: Alphabet) -> bool:
    return symbol in alphabet.ids and symbol not in _NOT_SOUNDS


def _to_ids(symbols: Sequence[str], alphabet: Alphabet) -> list[int]:
    ids = [*alphabet.ids[_START], *alphabet.ids[_PAD]]
    for symbol in symbols:
        if symbol in alphabet.ids:
            ids += [*alphabet.ids[symbol], *alphabet.ids[_PAD]]
    return [*ids, *alphabet.ids[_END]]
