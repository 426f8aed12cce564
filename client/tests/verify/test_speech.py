from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from client.tests.verify.answers import failed
from client.verify.facts import Facts, Recording, Speech, Spoken
from client.verify.questions import Questions, RefusedError, Transcript
from client.verify.sound import Sound, write_wav
from client.verify.speech import say, spoken
from frontend.catalogue.voices import VOICES

RATE = 16_000
SPEECH = Speech(sentences={"en": ["one two | three", "four"]}, pause=0.25, sentence_pause=0.5)
# Of a voice that says each phrase in a second.
WORDS = [(" one", 0.5, 1.0), (" two", 1.0, 1.5), (" three", 1.75, 2.75), (" four", 3.25, 4.25)]
HEARD = Transcript("one two three four", "en", -0.1, WORDS)


def _tone(hertz: float, seconds: float) -> Sound:
    return Sound((20_000 * np.sin(2 * np.pi * hertz * np.arange(int(seconds * RATE)) / RATE)).astype(np.int16), RATE)


@dataclass
class Talk(Questions):
    """Both English voices say each phrase as a tone of a second, of which ``heard`` is heard."""

    heard: Transcript = HEARD
    loudness: float = 1.0
    rate: int = RATE
    refused: dict[str, RefusedError] = field(default_factory=dict)

    async def speak(self, text: str, voice: str, kind: str = "wav") -> bytes:
        if voice in self.refused:
            raise self.refused[voice]
        sound = _tone(440.0, 1.0)
        return write_wav(Sound((sound.samples * self.loudness).astype(np.int16), self.rate))

    async def hear(self, model: str, file: bytes, temperature: float = 0.0) -> Transcript:
        return self.heard


async def test_right_transcripts_of_voices_pass() -> None:
    rows = await spoken(Talk(), Facts("", speech=SPEECH), "")
    assert (failed(rows), len(rows)) == (set(), 14)


async def test_the_pause_before_a_sentence_is_longer_than_before_a_phrase() -> None:
    said = await say(Talk(), Facts("", speech=SPEECH), VOICES["amy"])
    assert [round(start, 2) for start, _ in said.spans] == [0.5, 1.75, 3.25]


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
async def test_wrong_transcripts_of_voices_fail(heard: dict[str, Any], wrong: set[str]) -> None:
    rows = await spoken(Talk(replace(HEARD, **heard)), Facts("", speech=SPEECH), "")
    assert failed(rows) - {"word error, all voices"} == wrong


async def test_the_word_error_of_all_voices_has_its_own_limit() -> None:
    talk = Talk(replace(HEARD, words=[*WORDS[:3], (" for", 3.25, 4.25)]))
    rows = await spoken(talk, Facts("", speech=replace(SPEECH, voice_word_error=0.5)), "")
    assert failed(rows) == {"word error, all voices"}


async def test_facts_without_limits_are_not_checked() -> None:
    unknown = replace(SPEECH, language=False, word_error=None, voice_word_error=None, seconds=None)
    assert await spoken(Talk(), Facts("", speech=unknown), "") == []


@pytest.mark.parametrize(("missing", "ok"), [(True, None), (False, False)], ids=["not served", "failed"])
async def test_a_voice_without_an_answer_is_wrong_only_if_it_is_served(missing: bool, ok: bool | None) -> None:
    talk = Talk(refused={"ryan": RefusedError("502: no answer", missing=missing)})
    rows = await spoken(talk, Facts("", speech=SPEECH), "")
    assert [(row.fact, row.got, row.ok) for row in rows if not row.ok] == [("speech of ryan", "502: no answer", ok)]


def _recorded() -> Facts:
    """Both sentences as the voice amy says them."""
    tones = [_tone(440.0, seconds) for seconds in (2.0, 1.0)]
    said = [Spoken(each.seconds, each.decibels) for each in tones]
    limits = {"length": 0.15, "loudness": 3.0}
    recording = Recording("fp32", limits, [], [], [], [], {}, {"amy": said, "ryan": []})
    return Facts("", speech=SPEECH, recordings=[recording])


@pytest.mark.parametrize(
    ("talk", "wrong"),
    [
        (Talk(), set()),
        (Talk(loudness=0.5), {"loudness of amy, dB at most"}),
    ],
    ids=["as it did", "softer"],
)
async def test_a_voice_sounds_as_it_was_recorded(talk: Talk, wrong: set[str]) -> None:
    assert failed(await spoken(talk, _recorded(), "")) == wrong


@pytest.mark.parametrize(("rate", "wrong"), [(RATE, set()), (22_050, {"length of amy, share at most"})])
async def test_another_sample_rate_makes_a_voice_too_short(rate: int, wrong: set[str]) -> None:
    facts = replace(_recorded(), speech=replace(SPEECH, voices=["nobody"]))
    assert failed(await spoken(Talk(rate=rate), facts, "")) == wrong


async def test_whisper_gets_only_the_named_voices() -> None:
    rows = await spoken(Talk(), Facts("", speech=replace(SPEECH, voices=["ryan"])), "")
    assert {row.fact.partition(": ")[0] for row in rows} == {
        "stt-1 hears ryan",
        "stt-1-hd hears ryan",
        "stt-1",
        "stt-1-hd",
    }
