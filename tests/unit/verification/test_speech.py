from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from frontend.verification.client import Api, RefusedError, Transcript
from frontend.verification.facts import Facts, Recording, Speech
from frontend.verification.rows import Row
from frontend.verification.sound import Sound, outline, write_wav
from frontend.verification.speech import clips, spoken
from tests.unit.verification.answers import DEMO, Recorded

RATE = 16_000
SPEECH = Speech(sentences={"en": ["one two | three", "four"]}, pause=0.25, sentence_pause=0.5)
# Of a voice that says each phrase in a second.
WORDS = [(" one", 0.5, 1.0), (" two", 1.0, 1.5), (" three", 1.75, 2.75), (" four", 3.25, 4.25)]
HEARD = Transcript("one two three four", "en", -0.1, WORDS)


def _tone(hertz: float, seconds: float) -> Sound:
    return Sound((20_000 * np.sin(2 * np.pi * hertz * np.arange(int(seconds * RATE)) / RATE)).astype(np.int16), RATE)


@dataclass
class Talk(Api):
    """Both English voices say each phrase as a tone of a second, of which ``heard`` is heard."""

    heard: Transcript = HEARD
    hertz: dict[str, float] = field(default_factory=dict)
    refused: dict[str, RefusedError] = field(default_factory=dict)

    async def speak(self, text: str, voice: str, kind: str = "wav") -> bytes:
        if voice in self.refused:
            raise self.refused[voice]
        return write_wav(_tone(self.hertz.get(voice, 440.0), 1.0))

    async def hear(self, model: str, file: bytes, temperature: float = 0.0) -> Transcript:
        return self.heard


def _wrong(rows: list[Row]) -> set[str]:
    return {row.fact.removeprefix("stt-1").removeprefix("-hd").lstrip(": ") for row in rows if row.ok is False}


async def test_what_is_heard_as_it_was_said_is_right() -> None:
    rows = await spoken(Talk(), Facts("", speech=SPEECH), "")
    assert (_wrong(rows), len(rows)) == (set(), 14)


@pytest.mark.parametrize(
    ("heard", "wrong"),
    [
        ({"language": "de"}, {"hears amy: language", "hears ryan: language"}),
        ({"words": [*WORDS[:3], (" for", 3.25, 4.25)]}, {"hears amy: word error", "hears ryan: word error"}),
        ({"words": [*WORDS[:3], (" four", 3.25, 4.6)]}, {"hears amy: seconds off", "hears ryan: seconds off"}),
        ({"words": []}, {"hears amy: word error", "hears ryan: word error"}),
    ],
    ids=["language", "word", "time", "nothing"],
)
async def test_what_is_heard_otherwise_is_told(heard: dict[str, Any], wrong: set[str]) -> None:
    rows = await spoken(Talk(replace(HEARD, **heard)), Facts("", speech=SPEECH), "")
    assert _wrong(rows) - {"word error, all voices"} == wrong


async def test_the_word_error_of_all_is_held_to_its_own_limit() -> None:
    talk = Talk(replace(HEARD, words=[*WORDS[:3], (" for", 3.25, 4.25)]))
    rows = await spoken(talk, Facts("", speech=replace(SPEECH, voice_word_error=0.5)), "")
    assert _wrong(rows) == {"word error, all voices"}


async def test_what_is_not_known_is_not_asked() -> None:
    unknown = replace(SPEECH, language=False, word_error=None, voice_word_error=None, seconds=None)
    assert await spoken(Talk(), Facts("", speech=unknown), "") == []


async def test_a_voice_that_is_not_served_is_neither_right_nor_wrong() -> None:
    rows = await spoken(
        Talk(refused={"ryan": RefusedError("400: unknown", missing=True)}), Facts("", speech=SPEECH), ""
    )
    assert [(row.fact, row.ok) for row in rows if not row.ok] == [("speech of ryan", None)]


async def test_a_voice_that_fails_is_wrong() -> None:
    rows = await spoken(Talk(refused={"ryan": RefusedError("502: no answer")}), Facts("", speech=SPEECH), "")
    assert [(row.fact, row.got, row.ok) for row in rows if not row.ok] == [("speech of ryan", "502: no answer", False)]


@pytest.mark.parametrize(("hertz", "wrong"), [(440.0, set()), (1200.0, {"sound of amy, dB at most"})])
async def test_a_voice_sounds_as_it_was_recorded(hertz: float, wrong: set[str]) -> None:
    sounds = [outline(_tone(440.0, seconds)) for seconds in (2.0, 1.0)]
    recording = Recording("fp32", {}, [], [], [], [], {}, {"amy": sounds, "ryan": []})
    facts = Facts("", speech=SPEECH, recordings=[recording])
    assert _wrong(await spoken(Talk(hertz={"amy": hertz}), facts, "")) == wrong


async def test_clips_are_heard_as_they_were_recorded() -> None:
    rows = await clips(Recorded(), DEMO, "")
    assert (_wrong(rows), len(rows)) == (set(), 38)


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({"language": "es"}, "language"),
        ({"text": "Good evening Anna."}, "text"),
        ({"text": ""}, "text"),
        ({"logprob": -0.3}, "log probability"),
    ],
    ids=["language", "text", "silence", "logprob"],
)
async def test_clips_that_are_heard_otherwise_are_told(change: dict[str, Any], wrong: str) -> None:
    rows = await clips(Recorded(heard=lambda heard: replace(heard, **change)), DEMO, "")
    assert {fact.partition(": ")[2] for fact in _wrong(rows)} - {"log probability, mean"} == {wrong}


async def test_clips_that_are_all_a_little_less_sure_are_told() -> None:
    api = Recorded(heard=lambda heard: replace(heard, logprob=heard.logprob - 0.003))
    assert _wrong(await clips(api, DEMO, "")) == {"clips: log probability, mean"}
