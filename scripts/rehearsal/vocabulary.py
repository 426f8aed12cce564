"""A tokenizer in the file layout of XLM-R's, with its special tokens at its ids and made-up pieces between them."""

from collections.abc import Iterator
from itertools import chain, product

from tokenizers import normalizers
from transformers import XLMRobertaTokenizerFast

from scripts.benchmark.lookalikes import text
from scripts.export_models.text import calibration

# Of a word, as long as XLM-R's pieces are on average.
_PIECE = 5
# Latin, Greek and Cyrillic; Hebrew and Arabic; Devanagari; Thai; kana; Chinese characters; Hangul.
_SCRIPTS = (
    (0x20, 0x530), (0x590, 0x700), (0x900, 0x980), (0xE00, 0xE80), (0x3040, 0x3100), (0x4E00, 0xA000), (0xAC00, 0xD7A4),
)  # fmt: skip
_ONSETS, _VOWELS = "bcdfghjklmnprstvwz", "aeiouäöüéè"
# Logarithms of probabilities: pieces of real words before made-up ones, and both before single characters.
_REAL, _MADE_UP, _CHARACTER = -10.0, -11.0, -14.0


def tokenizer(entries: int) -> XLMRobertaTokenizerFast:
    """Of so many entries, with about as many tokens for the calibration's texts as XLM-R's has."""
    pieces = dict.fromkeys(text.SPECIAL, 0.0)
    # The last entry is <mask>.
    for piece, score in chain(_real(), _characters(), _made_up()):
        if len(pieces) == entries - 1:
            break
        pieces.setdefault(piece, score)
    its = text.tokenizer(pieces)
    its.backend_tokenizer.normalizer = normalizers.NFKC()
    return its


def _real() -> Iterator[tuple[str, float]]:
    """The words of the calibration's texts, in pieces."""
    for line in (*calibration.texts(), *calibration.held_out()):
        for word in line.split():
            marked = f"▁{word}"
            yield from ((marked[at : at + _PIECE], _REAL) for at in range(0, len(marked), _PIECE))


def _characters() -> Iterator[tuple[str, float]]:
    yield "▁", _CHARACTER
    for first, end in _SCRIPTS:
        yield from ((chr(code), _CHARACTER) for code in range(first, end))


def _made_up() -> Iterator[tuple[str, float]]:
    """Syllables, by themselves and at the beginning of words, then two and three of them."""
    syllables = ["".join(parts) for parts in product(_ONSETS, _VOWELS)]
    for count in (1, 2, 3):
        for parts in product(syllables, repeat=count):
            yield from ((start + "".join(parts), _MADE_UP) for start in ("", "▁"))
