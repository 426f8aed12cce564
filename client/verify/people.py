"""Checks of Whisper on recordings of people."""

from collections.abc import Sequence

import jiwer
import numpy as np

from client.recordings import SAMPLE_RATE, Recorded, read_g722, recordings, words
from client.verify.comparison import compare
from client.verify.facts import Facts, Heard, Recording
from client.verify.questions import Questions, Transcript
from client.verify.rows import Row, asked, at_most, nearest, same
from client.verify.sound import Sound, joined, write_wav
from frontend.catalogue.models import MODELS, TRANSCRIPTIONS

_HEARING = tuple(model.id for model in MODELS.values() if model.operation == TRANSCRIPTIONS)
_PAUSE_SECONDS = 0.6
# Recordings per language that are sent individually.
_CLIPS = 2
_CLIP_WORD_ERROR = 0.1  # largest share of words


def hearing(api: Questions) -> tuple[str, ...]:
    """The models that hear: the one that is asked, or those of the contract."""
    return (api.named[TRANSCRIPTIONS],) if TRANSCRIPTIONS in api.named else _HEARING


def clips() -> list[bytes]:
    """The recordings that are sent individually, as WAV files."""
    return [write_wav(_sound(recorded)) for recorded in recordings(most=_CLIPS)]


async def heard(api: Questions, facts: Facts, precision: str) -> list[Row]:
    """A row per fact about recordings of people."""
    rows: list[Row] = []
    for model in hearing(api):
        for language in facts.people.word_error:
            rows += await asked(f"{model} hears people: {language}", _in_a_row(api, facts, model, language))
        known = [each for each in facts.recordings if each.heard.get(model)]
        if known:
            rows += await asked(f"{model} hears clips", _one_by_one(api, model, known))
    return rows


def _sound(recorded: Recorded) -> Sound:
    return Sound(read_g722(recorded.path), SAMPLE_RATE)


async def _in_a_row(api: Questions, facts: Facts, model: str, language: str) -> list[Row]:
    """Check all recordings of a language in one file, which is longer than a window, with known starts and ends."""
    people, limits = recordings(language), facts.people
    sounds = [*(_sound(recorded).trimmed() for recorded in people), Sound(np.zeros(0, np.int16), SAMPLE_RATE)]
    file, spans = joined(sounds, [_PAUSE_SECONDS] * len(sounds))
    answer = await api.hear(model, write_wav(file))
    comparison = compare([recorded.text for recorded in people], spans[:-1], answer)
    fact, error = f"{model} hears people: {language}", comparison.errors / max(comparison.said, 1)
    rows = [
        same(f"{fact}: language", language, answer.language, "people_word_error"),
        at_most(f"{fact}: word error", error, limits.word_error[language], "people_word_error"),
    ]
    if limits.seconds is not None:
        rows.append(at_most(f"{fact}: seconds off", comparison.late, limits.seconds, "people_seconds"))
    return rows


async def _one_by_one(api: Questions, model: str, known: Sequence[Recording]) -> list[Row]:
    files = clips()
    got: dict[tuple[int, float], Transcript] = {}
    for recording in known:
        for at, clip in enumerate(recording.heard[model]):
            if (key := (at, clip.temperature)) not in got:
                got[key] = await api.hear(model, files[at], clip.temperature)
    pairs = [[(clip, got[at, clip.temperature]) for at, clip in enumerate(each.heard[model])] for each in known]
    means = [float(np.mean([_missed_by(*pair) for pair in some])) for some in pairs]
    # The precision option describes the text models. Whisper's may differ.
    recording, place, _ = nearest(known, "logprobs", means)
    part = "sampled" if any(clip.temperature for clip in recording.heard[model]) else ""
    rows = [at_most(f"{model} clips: log probability, mean", means[place], recording.limits["logprobs"], part)]
    for number, pair in enumerate(pairs[place], 1):
        rows += _clip(f"{model} clip {number}", *pair, recording.limits["logprob"])
    return rows


def _clip(fact: str, expected: Heard, got: Transcript, limit: float) -> list[Row]:
    rows = [same(f"{fact}: language", expected.language, got.language)]
    if expected.text is not None:
        part = "sampled" if expected.temperature else ""
        rows.append(_text(f"{fact}: text", expected.text, got.text, part))
        rows.append(at_most(f"{fact}: log probability", _missed_by(expected, got), limit, part))
    return rows


def _text(fact: str, expected: str, got: str, part: str) -> Row:
    error = word_error(expected, got)
    return Row(fact, expected, got, f"{_CLIP_WORD_ERROR:.0%} of words", error <= _CLIP_WORD_ERROR, part)


def word_error(expected: str, got: str) -> float:
    """The share of words that differ, or 1 if only one text has words."""
    expected, got = " ".join(words(expected)), " ".join(words(got))
    if not expected or not got:
        return float(expected != got)
    return float(jiwer.wer(expected, got))


def _missed_by(expected: Heard, got: Transcript) -> float:
    """The difference of log probabilities, or 0 if the clip's text varied."""
    return abs(expected.logprob - got.logprob) if expected.text is not None else 0.0
