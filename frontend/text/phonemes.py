"""Text to a voice's phoneme ids, sentence by sentence.

It runs in a worker process, since espeak-ng keeps its state in globals and leaks a little.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from piper import espeakbridge
from piper.phonemize_espeak import EspeakPhonemizer

from frontend.text.alphabets import Alphabet

MOST_IDS = 400
# Most symbols per call. Piper's take two ids each; the start, its pad and the end take three.
MOST_SYMBOLS = MOST_IDS // 2 - 2
_CLAUSE_ENDS = frozenset(",;:")
_SENTENCE_ENDS = frozenset(".!?")
# A reader's: the sentences of a text, by language.
Splits = Callable[[str, str], list[str]]


@dataclass(frozen=True)
class Utterance:
    """A sentence, or a part of a long one; ``ends`` marks the end of a sentence."""

    ids: list[int]
    ends: bool = True


@cache
def load_phonemizer() -> EspeakPhonemizer:
    """The phonemizer of this worker process.

    It is loaded once: espeak-ng keeps pointers to what a second load frees, and then may crash.
    """
    # Each call leaks more than a kilobyte, and every sentence makes one.
    espeakbridge.set_voice = lru_cache(maxsize=1)(espeakbridge.set_voice)
    return EspeakPhonemizer()


def phonemize(text: str, alphabet: Alphabet, split: Splits) -> list[Utterance]:
    """Utterances of at most ``MOST_IDS`` phoneme ids, in order. Text that cannot be spoken gives none."""
    return _utterances(split(text, alphabet.language), alphabet, None)


def phonemize_first(text: str, alphabet: Alphabet, split: Splits) -> tuple[list[Utterance], list[str]]:
    """The utterances of the first sentence, of which the first is short, and the other sentences."""
    sentences = split(text, alphabet.language)
    for position, sentence in enumerate(sentences, 1):
        if utterances := _utterances([sentence], alphabet, 0):
            return utterances, sentences[position:]
    return [], []


def phonemize_others(sentences: Sequence[str], alphabet: Alphabet, before: int) -> list[Utterance]:
    """The utterances of the other sentences; ``before`` is the number of ids of those of the first."""
    return _utterances(sentences, alphabet, before // alphabet.ids_per_symbol)


def _utterances(sentences: Sequence[str], alphabet: Alphabet, before: int | None) -> list[Utterance]:
    """The parts of sentences that have sounds. Short sentences are one utterance if the alphabet ``joins`` them.

    In a stream, ``before`` is the number of symbols that were spoken before, which bounds the length of the next part.
    """
    found: list[tuple[list[str], bool]] = []
    total = 0
    for sentence in sentences:
        symbols = alphabet.symbols(_as_one(load_phonemizer().phonemize(alphabet.espeak_voice, sentence)))
        while symbols:
            spoken = None if before is None else before + total
            last, ends = found[-1] if found else ([], False)
            room = _most(alphabet, spoken)
            at = _cut(symbols, room)
            part, symbols = symbols[:at], symbols[at:]
            if not any(map(alphabet.is_sound, part)):
                continue
            # A line of a list may have no full stop, but it has a pause.
            joined = [*last, *("" if last[-1:] and last[-1] in _SENTENCE_ENDS else "."), " ", *part]
            if ends and alphabet.joins and len(joined) <= _most(alphabet, spoken and spoken - len(last)):
                found[-1] = (joined, not symbols)
                total += len(joined) - len(last)
            else:
                found.append((part, not symbols))
                total += len(part)
    return [Utterance(alphabet.to_ids(part), ends) for part, ends in found]


def _most(alphabet: Alphabet, before: int | None) -> int:
    """The most symbols of an utterance after ``before`` others."""
    if before is None:
        return MOST_SYMBOLS
    return min(max(alphabet.growth * before, alphabet.first_symbols), MOST_SYMBOLS)


def _as_one(clauses: list[list[str]]) -> list[str]:
    """Join the clauses of a sentence. espeak-ng may take it for several sentences; their ends are no pauses."""
    symbols: list[str] = []
    for position, clause in enumerate(clauses, 1):
        while position < len(clauses) and clause and clause[-1] in _SENTENCE_ENDS:
            clause = clause[:-1]
        symbols += [" ", *clause] if symbols else clause
    return symbols


def _cut(symbols: Sequence[str], most: int) -> int:
    """Where to cut a sentence, so that its parts have similar lengths and the first at most ``most`` symbols.

    It is after a clause if one ends near, otherwise at a space.
    """
    if len(symbols) <= most:
        return len(symbols)
    target = len(symbols) // -(-len(symbols) // most)
    spaces = [position for position in range(target // 2, most) if symbols[position] == " "]
    clauses = [position for position in spaces if symbols[position - 1] in _CLAUSE_ENDS]
    return min(clauses or spaces, key=lambda position: abs(position - target), default=most - 1) + 1
