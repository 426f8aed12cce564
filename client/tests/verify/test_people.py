"""Whisper's transcripts of people are compared with known ones."""

from dataclasses import dataclass, replace
from typing import Any

import pytest

from client.recordings import read_g722, recordings
from client.tests.verify.answers import DEMO, Recorded, failed
from client.verify.facts import Facts, People
from client.verify.people import heard
from client.verify.questions import Questions, Transcript
from client.verify.sound import Sound, joined

PEOPLE = Facts("", people=People({"it": 0.05}))


def _said() -> Transcript:
    """Each recording's words, one after the other in the time that it takes."""
    people = recordings("it")
    sounds = [Sound(read_g722(each.path), 16_000).trimmed() for each in people]
    _, spans = joined(sounds, [0.6] * len(sounds))
    words = []
    for each, (start, end) in zip(people, spans, strict=True):
        parts = each.text.split()
        length = (end - start) / len(parts)
        words += [(part, start + length * at, start + length * (at + 1)) for at, part in enumerate(parts)]
    return Transcript(" ".join(each.text for each in people), "it", -0.1, words)


@dataclass
class Hearing(Questions):
    """Hears the Italian recordings as they are, but for what is ``changed``."""

    changed: dict[str, Any]

    def __init__(self, **changed: Any) -> None:
        self.changed = changed

    async def hear(self, model: str, file: bytes, temperature: float = 0.0) -> Transcript:
        return replace(_said(), **self.changed)


async def test_right_transcripts_of_people_pass() -> None:
    rows = await heard(Hearing(), PEOPLE, "")
    assert (failed(rows), len(rows)) == (set(), 6)


@pytest.mark.parametrize(
    ("changed", "wrong"),
    [
        ({"language": "es"}, "language"),
        ({"words": [(text[::-1], start, end) for text, start, end in _said().words]}, "word error"),
        ({"words": [(text, start + 30, end + 30) for text, start, end in _said().words]}, "seconds off"),
    ],
    ids=["language", "words", "a window late"],
)
async def test_wrong_transcripts_of_people_fail(changed: dict[str, Any], wrong: str) -> None:
    assert failed(await heard(Hearing(**changed), PEOPLE, "")) == {f"hears people: it: {wrong}"}


async def test_languages_without_a_limit_are_not_checked() -> None:
    assert await heard(Hearing(), Facts(""), "") == []


async def test_recorded_transcripts_of_clips_pass() -> None:
    rows = await heard(Recorded(), DEMO, "")
    assert (failed(rows), len(rows)) == (set(), 62)


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
async def test_wrong_transcripts_of_clips_fail(change: dict[str, Any], wrong: str) -> None:
    rows = await heard(Recorded(heard=lambda heard: replace(heard, **change)), DEMO, "")
    assert {fact.partition(": ")[2] for fact in failed(rows)} - {"log probability, mean"} == {wrong}


@pytest.mark.parametrize("change", [-0.02, 0.02], ids=["less", "more"])
async def test_a_small_shift_of_all_log_probabilities_fails(change: float) -> None:
    api = Recorded(heard=lambda heard: replace(heard, logprob=heard.logprob + change))
    assert failed(await heard(api, DEMO, "")) == {"clips: log probability, mean"}
