"""Checks of voices: their sound, and its transcripts by Whisper."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from client.verify.comparison import Comparison, Span, compare
from client.verify.facts import Facts, Recording
from client.verify.people import hearing
from client.verify.questions import Questions
from client.verify.rows import Row, asked, at_most, same
from client.verify.sound import Sound, joined, read_wav, write_wav
from frontend.catalogue.voices import VOICES, Voice

_PART = "|"


@dataclass(frozen=True)
class Said:
    """A voice's sentences one by one, and a recording of all with start and end of each phrase."""

    sentences: list[Sound]
    recording: Sound
    phrases: list[str]
    spans: list[Span]


async def say(api: Questions, facts: Facts, voice: Voice) -> Said:
    """Speak the sentences of a voice's language, phrase by phrase."""
    speech, phrases, pauses = facts.speech, list[str](), list[float]()
    sentences, sounds = list[Sound](), list[Sound]()
    for sentence in speech.sentences[voice.language]:
        parts = [part.strip() for part in sentence.split(_PART)]
        spoken = [read_wav(await api.speak(part, voice.name)).trimmed() for part in parts]
        sentences.append(joined(spoken, [0.0] * len(spoken))[0])
        sounds, phrases = sounds + spoken, phrases + parts
        pauses += [speech.sentence_pause, *[speech.pause] * (len(parts) - 1)]
    silence = Sound(np.zeros(0, np.int16), sounds[0].rate)
    recording, spans = joined([*sounds, silence], [*pauses, speech.sentence_pause])
    return Said(sentences, recording, phrases, spans[:-1])


def voices(facts: Facts) -> list[Voice]:
    """The voices with sentences in their language."""
    return [voice for voice in VOICES.values() if facts.speech.sentences.get(voice.language)]


async def spoken(api: Questions, facts: Facts, precision: str) -> list[Row]:
    """A row for each fact about voices and about their transcripts."""
    rows: list[Row] = []
    said: dict[str, Said] = {}

    async def sounds(voice: Voice) -> list[Row]:
        said[voice.name] = await say(api, facts, voice)
        return _sounds(facts.recordings, voice.name, said[voice.name])

    for voice in voices(facts):
        rows += await asked(f"speech of {voice.name}", sounds(voice))
    for model in hearing(api):
        compared: list[Comparison] = []
        for name in facts.speech.voices_for_whisper(said):
            rows += await asked(f"{model} hears {name}", _hears(api, facts, model, VOICES[name], said[name], compared))
        if compared and facts.speech.word_error is not None:
            error = sum(each.errors for each in compared) / max(sum(each.said for each in compared), 1)
            rows.append(at_most(f"{model}: word error, all voices", error, facts.speech.word_error, "word_error"))
    return rows


def _sounds(recordings: Sequence[Recording], voice: str, said: Said) -> list[Row]:
    """Compare length and loudness of each sentence with the recorded ones."""
    known = next((each for each in recordings if each.spoken.get(voice)), None)
    if known is None:
        return []
    pairs = list(zip(known.spoken[voice], said.sentences, strict=True))
    longer = max(abs(sound.seconds / expected.seconds - 1) for expected, sound in pairs)
    louder = max(abs(sound.decibels - expected.decibels) for expected, sound in pairs)
    return [
        at_most(f"length of {voice}, share at most", longer, known.limits["length"]),
        at_most(f"loudness of {voice}, dB at most", louder, known.limits["loudness"]),
    ]


async def _hears(
    api: Questions, facts: Facts, model: str, voice: Voice, said: Said, compared: list[Comparison]
) -> list[Row]:
    heard = await api.hear(model, write_wav(said.recording))
    comparison, limits = compare(said.phrases, said.spans, heard), facts.speech
    compared.append(comparison)
    rows, fact = [], f"{model} hears {voice.name}"
    if limits.language:
        rows.append(same(f"{fact}: language", voice.language, heard.language, "language"))
    if limits.voice_word_error is not None:
        error = comparison.errors / max(comparison.said, 1)
        rows.append(at_most(f"{fact}: word error", error, limits.voice_word_error, "voice_word_error"))
    if limits.seconds is not None:
        rows.append(at_most(f"{fact}: seconds off", comparison.late, limits.seconds, "seconds"))
    return rows
