"""Whether the export finds out that a checkpoint needs all of its silence."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from client.recordings import recordings
from scripts.export_models.whisper import checks
from scripts.export_models.whisper.checks import Spoken, compare
from scripts.export_models.whisper.served import recognizer_module
from scripts.export_models.whisper.silence import LittleSilence, little_silence, short_recordings
from tests.checkpoints import whisper_base


class Recognizer:
    """Hears ``brief`` with little silence and ``whole`` with all of it; each short window is recognised ``again``."""

    def __init__(self, brief: str, whole: str, again: int) -> None:
        self._brief, self._whole, self._again = brief, whole, again
        self.encoder = SimpleNamespace(longest=480_000, silence_seconds=6.0)
        self.second_passes = 0

    def transcribe(self, windows: Sequence[Any]) -> list[Any]:
        is_short = self.encoder.silence_seconds < 30
        self.second_passes += self._again * is_short
        text = self._brief if is_short else self._whole
        return [SimpleNamespace(words=[SimpleNamespace(text=text)]) for _ in windows]


@pytest.mark.parametrize(
    ("brief", "again", "harms"),
    [("said", 0, False), ("other", 0, True), ("said", 1, True)],
    ids=["hears the same", "hears other words", "loops"],
)
def test_little_silence_harms_if_words_are_wrong_or_windows_are_recognised_again(
    brief: str, again: int, harms: bool
) -> None:
    (person,) = recordings("en", most=1)
    said = {"said": person.text, "other": "something else"}
    recognizer = Recognizer(said[brief], person.text, again)
    assert little_silence(recognizer, [person]).harms is harms
    assert recognizer.encoder.silence_seconds == 6.0


def test_nobody_to_hear_is_no_harm() -> None:
    assert not little_silence(Recognizer("", "", 1), []).harms


def test_two_short_recordings_of_each_language_are_heard() -> None:
    people = short_recordings()
    assert [each.language for each in people] == [each for each in ("en", "es", "fr", "it", "ru") for _ in range(2)]
    assert max(each.seconds for each in people) < 6.0


@pytest.mark.parametrize(("harm", "silence", "named"), [(0.0, 6, "20 again"), (0.5, 30, "encoded whole")])
def test_an_export_that_little_silence_harms_has_all_of_it(
    exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harm: float, silence: int, named: str
) -> None:
    (person,) = recordings("en", most=1)
    monkeypatch.setattr(checks, "spoken_windows", lambda _: [Spoken("en", person.text, person.samples())])
    monkeypatch.setattr(checks, "little_silence", lambda *_: LittleSilence(20, harm, 0.0))
    folder = shutil.copytree(exported, tmp_path / "int8")
    short = compare(whisper_base(), folder, "whisper_turbo", "int8")[-1]
    assert json.loads((folder / "quartet.json").read_text(encoding="utf-8"))["silence_seconds"] == silence
    assert named in short.what
    assert short.passed


def test_whisper_base_hears_people_with_little_silence(exported: Path) -> None:
    found = little_silence(recognizer_module().Recognizer(exported), short_recordings()[::5])
    assert (found.windows, found.again, found.harms) == (4, 0.0, False)
