"""What is known of voices and Whispers: sentences that voices say and Whispers hear, and recorded clips."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass

import jiwer
import numpy as np

from frontend.catalogue.models import MODELS, TRANSCRIPTIONS
from frontend.catalogue.voices import VOICES, Voice
from frontend.verification.client import Api, Transcript
from frontend.verification.facts import Facts, Heard, Recording
from frontend.verification.rows import Row, asked, at_most, nearest, same
from frontend.verification.sound import Sound, apart, joined, outline, read_wav, write_wav
from frontend.verification.words import Comparison, Span, compare, words

HEARING = tuple(model.id for model in MODELS.values() if model.operation == TRANSCRIPTIONS)
_PART = "|"
_CLIP_WORD_ERROR = 0.05
_OUTLINE_DB = 3.0


@dataclass(frozen=True)
class Said:
    """What a voice has said: its sentences one by one, and all of them as a recording with each phrase's place."""

    sentences: list[Sound]
    recording: Sound
    phrases: list[str]
    spans: list[Span]


async def say(api: Api, facts: Facts, voice: Voice) -> Said:
    """The sentences of a voice's language, phrase by phrase."""
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
    """Those that have something to say."""
    return [voice for voice in VOICES.values() if facts.speech.sentences.get(voice.language)]


async def spoken(api: Api, facts: Facts, precision: str) -> list[Row]:
    """A row for each fact about voices, and about what the Whispers hear of them."""
    rows: list[Row] = []
    said: dict[str, Said] = {}

    async def outlines(voice: Voice) -> list[Row]:
        said[voice.name] = await say(api, facts, voice)
        return _outlines(facts.recordings, voice.name, said[voice.name])

    for voice in voices(facts):
        rows += await asked(f"speech of {voice.name}", outlines(voice))
    for model in HEARING:
        compared: list[Comparison] = []
        for name, each in said.items():
            rows += await asked(f"{model} hears {name}", _hears(api, facts, model, VOICES[name], each, compared))
        if compared and facts.speech.word_error is not None:
            error = sum(each.errors for each in compared) / max(sum(each.said for each in compared), 1)
            rows.append(at_most(f"{model}: word error, all voices", error, facts.speech.word_error, "word_error"))
    return rows


def _outlines(recordings: Sequence[Recording], voice: str, said: Said) -> list[Row]:
    """A voice that says the same in the same way each time sounds as it was recorded."""
    known = next((each.sounds[voice] for each in recordings if each.sounds.get(voice)), None)
    if known is None:
        return []
    away = [apart(wanted, outline(sound)) for wanted, sound in zip(known, said.sentences, strict=True)]
    return [at_most(f"sound of {voice}, dB at most", max(away), _OUTLINE_DB)]


async def _hears(api: Api, facts: Facts, model: str, voice: Voice, said: Said, compared: list[Comparison]) -> list[Row]:
    heard = await api.hear(model, write_wav(said.recording))
    found, limits = compare(said.phrases, said.spans, heard), facts.speech
    compared.append(found)
    rows, fact = [], f"{model} hears {voice.name}"
    if limits.language:
        rows.append(same(f"{fact}: language", voice.language, heard.language, "language"))
    if limits.voice_word_error is not None:
        error = found.errors / max(found.said, 1)
        rows.append(at_most(f"{fact}: word error", error, limits.voice_word_error, "voice_word_error"))
    if limits.seconds is not None:
        rows.append(at_most(f"{fact}: seconds off", found.late, limits.seconds, "seconds"))
    return rows


async def clips(api: Api, facts: Facts, precision: str) -> list[Row]:
    """A row for each fact about recorded clips."""
    rows: list[Row] = []
    for model in HEARING:
        recordings = [each for each in facts.recordings if each.heard.get(model)]
        if recordings:
            rows += await asked(f"{model} hears clips", _clips(api, facts, model, recordings))
    return rows


async def _clips(api: Api, facts: Facts, model: str, recordings: Sequence[Recording]) -> list[Row]:
    got: dict[tuple[int, float], Transcript] = {}
    for recording in recordings:
        for at, known in enumerate(recording.heard[model]):
            if (key := (at, known.temperature)) not in got:
                got[key] = await api.hear(model, base64.b64decode(facts.clips[at]), known.temperature)
    pairs = [[(known, got[at, known.temperature]) for at, known in enumerate(each.heard[model])] for each in recordings]
    means = [float(np.mean([_missed_by(*pair) for pair in some])) for some in pairs]
    # What is told is the precision of the text models; a Whisper may be in another.
    recording, place, _ = nearest(recordings, "logprobs", means)
    part = "sampled" if any(known.temperature for known in recording.heard[model]) else ""
    rows = [at_most(f"{model} clips: log probability, mean", means[place], recording.limits["logprobs"], part)]
    for number, pair in enumerate(pairs[place], 1):
        rows += _clip(f"{model} clip {number}", *pair, recording.limits["logprob"])
    return rows


def _clip(fact: str, wanted: Heard, found: Transcript, limit: float) -> list[Row]:
    rows = [same(f"{fact}: language", wanted.language, found.language)]
    if wanted.text is not None:
        part = "sampled" if wanted.temperature else ""
        rows.append(_text(f"{fact}: text", wanted.text, found.text, part))
        rows.append(at_most(f"{fact}: log probability", _missed_by(wanted, found), limit, part))
    return rows


def _text(fact: str, wanted: str, found: str, part: str) -> Row:
    error = word_error(wanted, found)
    return Row(fact, wanted, found, f"{_CLIP_WORD_ERROR:.0%} of words", error <= _CLIP_WORD_ERROR, part)


def word_error(wanted: str, found: str) -> float:
    """The share of words that differ; a text without words is wrong wherever another has some."""
    expected, got = " ".join(words(wanted)), " ".join(words(found))
    if not expected or not got:
        return float(expected != got)
    return float(jiwer.wer(expected, got))


def _missed_by(wanted: Heard, found: Transcript) -> float:
    """The difference of log probabilities; nothing where the clip was not heard as the same twice."""
    return abs(wanted.logprob - found.logprob) if wanted.text is not None else 0.0
