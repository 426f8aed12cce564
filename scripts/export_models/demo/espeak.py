"""espeak-ng through ctypes: speech with the position of every phoneme.

The library and its data come from the wheel ``espeakng-loader``. espeak-ng has global state: use it in one thread of a
process at a time.
"""

import ctypes
from dataclasses import dataclass
from typing import Any

import espeakng_loader
import numpy as np
from numpy.typing import NDArray

_SYNCHRONOUS = 2
_PHONEME_EVENTS_IN_IPA = 3
_EVENT_END_OF_LIST = 0
_EVENT_PHONEME = 7
_UTF8 = 1
_RATE, _PITCH, _RANGE = 1, 3, 4


class _EventId(ctypes.Union):
    _fields_ = [("number", ctypes.c_int), ("name", ctypes.c_char_p), ("string", ctypes.c_char * 8)]


class _Event(ctypes.Structure):
    _fields_ = [
        ("type", ctypes.c_int),
        ("unique_identifier", ctypes.c_uint),
        ("text_position", ctypes.c_int),
        ("length", ctypes.c_int),
        ("audio_position", ctypes.c_int),
        ("sample", ctypes.c_int),
        ("user_data", ctypes.c_void_p),
        ("id", _EventId),
    ]


_Callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.POINTER(_Event))


@dataclass(frozen=True)
class Phone:
    """A phoneme of an utterance: its IPA name and its samples ``[start, end)``."""

    name: str
    start: int
    end: int


@dataclass(frozen=True)
class Utterance:
    """Speech, INT16 [samples], and its phonemes."""

    samples: NDArray[np.int16]
    phones: list[Phone]


class Espeak:
    """The synthesizer; ``sample_rate`` is in Hz."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(espeakng_loader.get_library_path())
        data_path = espeakng_loader.get_data_path().encode()
        self.sample_rate = int(self._library.espeak_Initialize(_SYNCHRONOUS, 0, data_path, _PHONEME_EVENTS_IN_IPA))
        if self.sample_rate <= 0:
            raise RuntimeError("espeak-ng could not be initialised")
        self._chunks: list[NDArray[np.int16]] = []
        self._events: list[tuple[int, str]] = []
        # The library calls it, so it must not be freed.
        self._callback = _Callback(self._collect)

    def _collect(self, wave: Any, count: int, events: Any) -> int:
        if count > 0:
            self._chunks.append(np.ctypeslib.as_array(wave, (count,)).copy())
        index = 0
        while events[index].type != _EVENT_END_OF_LIST:
            event = events[index]
            if event.type == _EVENT_PHONEME:
                name = event.id.string.decode("utf-8", "replace")
                self._events.append((event.sample, name))
            index += 1
        return 0

    def seed(self, value: int) -> None:
        """Seed espeak-ng's noise (breath, flutter), so that the same text gives the same speech."""
        self._library.espeak_ng_SetRandSeed(ctypes.c_long(value))

    def speak(self, text: str, voice: str, *, rate: int = 160, pitch: int = 50, pitch_range: int = 50) -> Utterance:
        """Say ``text``; ``rate`` in words per minute, ``pitch`` and ``pitch_range`` from 0 to 100."""
        if self._library.espeak_SetVoiceByName(voice.encode()) != 0:
            raise ValueError(f"espeak-ng has no voice {voice!r}")
        self._library.espeak_SetParameter(_RATE, rate, 0)
        self._library.espeak_SetParameter(_PITCH, pitch, 0)
        self._library.espeak_SetParameter(_RANGE, pitch_range, 0)
        self._chunks, self._events = [], []
        # Another instance may have set a callback that is freed by now.
        self._library.espeak_SetSynthCallback(self._callback)
        data = text.encode() + b"\0"
        self._library.espeak_Synth(data, len(data), 0, 0, 0, _UTF8, None, None)
        self._library.espeak_Synchronize()
        samples = np.concatenate(self._chunks) if self._chunks else np.zeros(0, np.int16)
        ends = [start for start, _ in self._events[1:]] + [len(samples)]
        phones = [Phone(name, start, end) for (start, name), end in zip(self._events, ends, strict=True)]
        return Utterance(samples, phones)
