"""Texts of native speakers: where their sentences end, and how they are read.

In ``lists/ends_*.txt``, `` | `` or ``|`` is the end of a sentence and ``\\n`` a line break. In
``lists/readings_*.tsv``, a text is followed by its readings. A line that begins with ``¬`` is out of reach: it must
fail, so that it is not forgotten.
"""

import difflib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from frontend.reading.aloud import split
from frontend.text.phonemes import load_phonemizer

LISTS = Path(__file__).parent / "lists"
VOICES = {"en": "en-us", "de": "de", "fr": "fr", "it": "it"}
_OUT_OF_REACH = "¬"
# A sentence may have its abbreviations written out.
_ALIKE = 0.55


def _lines(name: str) -> Iterator[tuple[str, bool]]:
    """The lines, and whether they are within reach."""
    for line in (LISTS / name).read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("# "):
            text = line.removeprefix(_OUT_OF_REACH)
            yield text.replace("\\n", "\n"), text == line


def _ends_right(marked: str, language: str) -> bool:
    wanted = [each for each in marked.replace(" | ", "|").split("|") if each.strip()]
    text = marked.replace(" | ", " ").replace("|", "")
    got = split(text, language)
    return len(got) == len(wanted) and all(
        difflib.SequenceMatcher(None, one, other).ratio() > _ALIKE for one, other in zip(got, wanted, strict=True)
    )


@pytest.mark.parametrize("language", VOICES)
def test_sentences_end_where_a_native_speaker_ends_them(language: str) -> None:
    lines = list(_lines(f"ends_{language}.txt"))
    assert len(lines) >= 110
    assert [line for line, within in lines if _ends_right(line, language) is not within] == []


@pytest.mark.parametrize("language", VOICES)
def test_texts_are_read_as_a_native_speaker_reads_them(language: str) -> None:
    lines = list(_lines(f"readings_{language}.tsv"))
    assert len(lines) >= 119
    assert [line for line, within in lines if _reads_right(line, language) is not within] == []


def _reads_right(line: str, language: str) -> bool:
    text, readings = line.split("\t")
    said = _sounds(split(text, language), language)
    return any(said == _sounds(re.split(r"(?<=[.!?])\s+|\n", each), language) for each in readings.split(" || "))


# Sounds that differ between a number in digits and in words, but not for a listener: weak vowels, hardened consonants.
_SAME = str.maketrans(
    dict(zip("iᵻɾrʊwɔɑdzɡvmŋj", "ɪɪttuuootskfnnɪ", strict=True))
    | dict.fromkeys("ˈˌː ʲ.,:;!?\"'«»“”„()-—–həɐɜɚeɛ\u0329\u032a\u0361")
)


def _sounds(sentences: Sequence[str], language: str) -> str:
    clauses = (load_phonemizer().phonemize(VOICES[language], each) for each in sentences if each.strip())
    symbols = "".join(symbol for sentence in clauses for clause in sentence for symbol in clause)
    plain = re.sub(r"\(\w+\)", "", symbols).translate(_SAME)
    return re.sub(r"(.)\1+", r"\1", plain)
