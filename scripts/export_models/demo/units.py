"""Cuts diphones, the sounds from the middle of one phoneme to the middle of the next, out of espeak-ng's speech.

A voice speaks at a constant pitch, so two cuts on a peak of the pitch period join without a phase jump. The method is
the diphone synthesis of Hamon, Moulines and Charpentier (ICASSP 1989), reduced to one cross-fade of a pitch period per
join.
"""

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scripts.export_models.demo.espeak import Phone, Utterance

SILENCE = "SIL"
_STRESS = "ˈˌ"
_LONGEST_LINK_SECONDS = 0.06
_LONGEST_SILENCE_SECONDS = 0.06
_LEAST_PEAK_SHARE = 0.08


@dataclass(frozen=True)
class Diphone:
    """The samples ``[start, end)`` of an utterance; ``source`` has at least one more pitch period behind ``end``."""

    source: NDArray[np.int16]
    start: int
    end: int

    @property
    def length(self) -> int:
        return self.end - self.start


def is_modifier(symbol: str) -> bool:
    """Whether an IPA code point changes the one before it: length marks, nasality, palatalisation."""
    return unicodedata.category(symbol) in ("Mn", "Lm") and symbol not in _STRESS


def symbols(name: str) -> list[str]:
    """Split the name of an espeak phoneme into symbols with their modifiers: ``ˈoʊ`` is ``o``, ``ʊ``."""
    parts: list[str] = []
    for symbol in unicodedata.normalize("NFD", name):
        if symbol in _STRESS or symbol == "-":
            continue
        if parts and is_modifier(symbol):
            parts[-1] += symbol
        else:
            parts.append(symbol)
    return parts


def split_phones(utterance: Utterance, sample_rate: int) -> list[Phone]:
    """One entry per symbol; pauses become ``SILENCE``, short links are part of the next symbol."""
    phones = [Phone(SILENCE, 0, 0)]
    link_start: int | None = None
    for phone in utterance.phones:
        names = symbols(phone.name)
        start = phone.start if link_start is None else link_start
        link_start = None
        if not names:
            if phone.end - start <= _LONGEST_LINK_SECONDS * sample_rate and phone.end > start:
                link_start = start
            elif phones[-1].name == SILENCE:
                phones[-1] = Phone(SILENCE, phones[-1].start, phone.end)
            else:
                phones.append(Phone(SILENCE, start, phone.end))
            continue
        edges = np.linspace(start, phone.end, len(names) + 1).astype(int)
        phones += [Phone(n, int(edges[i]), int(edges[i + 1])) for i, n in enumerate(names)]
    end = len(utterance.samples)
    return [*phones, Phone(SILENCE, phones[-1].end, end)]


def _cut_point(samples: NDArray[np.int16], phone: Phone, period: int, sample_rate: int) -> int:
    """Where to cut a phoneme: on a pitch peak near its middle, or where it is quietest."""
    if phone.name == SILENCE:
        half = (phone.end - phone.start) // 2
        return phone.start + min(half, int(_LONGEST_SILENCE_SECONDS * sample_rate))
    middle = (phone.start + phone.end) // 2
    around = samples[max(0, middle - period // 2) : middle + period - period // 2].astype(np.float64)
    loudest = float(np.abs(samples).max()) or 1.0
    if len(around) and np.abs(around).max() > _LEAST_PEAK_SHARE * loudest:
        return max(0, middle - period // 2) + int(around.argmax())
    width = max(period // 2, 1)
    low = phone.start + (phone.end - phone.start) // 5
    high = max(low + 1, phone.end - (phone.end - phone.start) // 5 - width)
    energy = np.convolve(samples[low : high + width].astype(np.float64) ** 2, np.ones(width), "valid")
    return low + int(energy.argmin()) if len(energy) else middle


def cut(utterance: Utterance, period: int, sample_rate: int) -> Iterator[tuple[tuple[str, str], Diphone]]:
    """Every diphone of an utterance with the pair of symbols it joins; ``period`` in samples."""
    samples = np.concatenate([utterance.samples, np.zeros(sample_rate // 4, np.int16)])
    phones = split_phones(utterance, sample_rate)
    for left, right in zip(phones, phones[1:], strict=False):
        start = _cut_point(samples, left, period, sample_rate)
        end = _cut_point(samples, right, period, sample_rate)
        if left.name == SILENCE and right.name != SILENCE:
            start = max(start, right.start - int(_LONGEST_SILENCE_SECONDS * sample_rate))
        if end - start > period:
            yield (left.name, right.name), Diphone(samples, start, end)


def choose(found: Iterable[tuple[tuple[str, str], Diphone]]) -> dict[tuple[str, str], Diphone]:
    """Keep one recording of each pair, the one of median length."""
    recordings: dict[tuple[str, str], list[Diphone]] = defaultdict(list)
    for pair, diphone in found:
        recordings[pair].append(diphone)
    return {
        pair: sorted(group, key=lambda diphone: diphone.length)[len(group) // 2]
        for pair, group in sorted(recordings.items())
    }
