from pathlib import Path

import numpy as np
import pytest

from client.recordings import recordings
from client.verify.sound import Sound, read_wav
from scripts.benchmark.common import recorded
from scripts.benchmark.common.prompts import Prompt
from scripts.benchmark.common.recorded import clips, long_recording, spoken

PEOPLE = [Prompt(each.text, each.path) for each in recordings("en")]


@pytest.fixture(autouse=True)
def committed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The recordings of the checkout instead of those that are downloaded."""
    monkeypatch.setattr(recorded, "prompts", lambda language: PEOPLE)


def test_a_prompts_sound_has_no_silence_around_it() -> None:
    samples = np.abs(PEOPLE[0].sound.samples.astype(int))
    assert min(samples[0], samples[-1]) > samples.max() // 100


def test_each_prompt_lies_where_it_is_said_to_begin() -> None:
    made = spoken(PEOPLE[:3], "en", 5)
    sound = read_wav(made.file)
    for prompt, start in zip(PEOPLE, made.starts, strict=False):
        first = round(start * sound.rate)
        its = Sound(sound.samples[first : first + len(prompt.sound.samples)], sound.rate)
        assert np.array_equal(its.samples, prompt.sound.samples)
    assert made.texts == tuple(prompt.text for prompt in PEOPLE[:3])


def test_a_seed_gives_the_same_file_and_another_other_pauses() -> None:
    assert spoken(PEOPLE[:3], "en", 5) == spoken(PEOPLE[:3], "en", 5) != spoken(PEOPLE[:3], "en", 6)


def test_a_long_recording_has_as_many_prompts_as_fit() -> None:
    made = long_recording("en", 30.0)
    assert 20 < made.seconds < 32
    assert 0 < len(made.texts) < len(PEOPLE)


def test_clips_have_one_prompt_each() -> None:
    made = clips("en", 4)
    assert [len(clip.texts) for clip in made] == [1] * 4
    assert all(0.4 <= clip.starts[0] <= 1.6 for clip in made)


def test_a_recording_is_written_where_a_peer_finds_it(tmp_path: Path) -> None:
    (made,) = clips("en", 1)
    assert made.write(tmp_path / "folder", "0").read_bytes() == made.file
