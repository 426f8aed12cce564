"""How the two kinds of voices write what is spoken: the symbols of espeak-ng, and an id for each."""

import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from frontend.text.kokoro import REPLACEMENTS

_NOT_SOUNDS = frozenset(" .,:;!?'\"()-^$_ˈˌ—…“”")
_START, _END, _PAD = "^", "$", "_"


@dataclass(frozen=True)
class Alphabet(ABC):
    """A voice's language, its espeak-ng name, and the ids of each symbol.

    ``first_symbols`` are the most that are spoken first in a stream, so that it begins soon. What follows may be
    ``growth`` times as long as all before it, so that it is ready when that has been heard. A voice that ``joins``
    says several short sentences in one call.
    """

    language: str
    espeak_voice: str
    ids: Mapping[str, Sequence[int]]

    first_symbols: ClassVar[int]
    growth: ClassVar[int]
    ids_per_symbol: ClassVar[int]
    joins: ClassVar[bool]

    def symbols(self, phonemes: Sequence[str]) -> list[str]:
        """The symbols for the ``phonemes`` of espeak-ng, characters in Unicode's NFD."""
        return list(phonemes)

    @abstractmethod
    def to_ids(self, symbols: Sequence[str]) -> list[int]:
        """The ids that a voice gets, at most ``ids_per_symbol`` a symbol and three. Unknown symbols have none."""

    def is_sound(self, symbol: str) -> bool:
        """Whether a symbol can be heard, unlike pauses and stress."""
        return symbol in self.ids and symbol not in _NOT_SOUNDS


class PiperAlphabet(Alphabet):
    """Piper's rules (piper1-gpl, ``phoneme_ids.py``): start, pad, then each known symbol followed by a pad, and end."""

    # About three seconds of sound, for which a processor takes a sixth of a second.
    first_symbols, growth = 78, 10
    ids_per_symbol, joins = 2, False

    def to_ids(self, symbols: Sequence[str]) -> list[int]:
        ids = [*self.ids[_START], *self.ids[_PAD]]
        for symbol in symbols:
            if symbol in self.ids:
                ids += [*self.ids[symbol], *self.ids[_PAD]]
        return [*ids, *self.ids[_END]]


class KokoroAlphabet(Alphabet):
    """Kokoro's rules (misaki, ``espeak.py``): some sounds of two symbols are one, and a zero is at each end."""

    # More than a second of sound, for which two processors take a third of a second.
    first_symbols, growth = 22, 2
    # Each call costs a tenth of a second, and the model makes the pauses.
    ids_per_symbol, joins = 1, True

    def symbols(self, phonemes: Sequence[str]) -> list[str]:
        # The alphabet has ç, but all other marks on their own.
        text = "".join(phonemes).replace(unicodedata.normalize("NFD", "ç"), "ç")
        for old, new in REPLACEMENTS.get(self.espeak_voice, REPLACEMENTS[""]):
            text = text.replace(old, new)
        return list(text)

    def to_ids(self, symbols: Sequence[str]) -> list[int]:
        return [0, *(number for symbol in symbols for number in self.ids.get(symbol, ())), 0]
