"""The comparison of an exported Whisper, which slightly wrong graphs do not pass, and what it says of short windows."""

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import openvino as ov
import pytest
import torch
from numpy.typing import NDArray
from openvino import opset15 as op

from client import recordings
from scripts.export_models import whisper
from scripts.export_models import whisper_checks as checks
from scripts.export_models.parity import Check
from scripts.export_models.whisper_checks import (
    LittleSilence,
    Spoken,
    compare,
    little_silence,
    short_recordings,
    spoken_windows,
    word_error,
)
from tests.checkpoints import whisper_base

Change = Callable[[NDArray[Any]], NDArray[Any]]


@pytest.fixture
def copied(small_exported: Path, tmp_path: Path) -> Path:
    return shutil.copytree(small_exported, tmp_path / "int8")


def _changed(folder: Path, name: str, chosen: Callable[[NDArray[Any]], bool], change: Change, most: int) -> None:
    """Change the first ``most`` constants of a graph that are ``chosen`` by their content."""
    graph = ov.Core().read_model(folder / f"{name}.xml")
    constants = [node for node in graph.get_ordered_ops() if node.get_type_name() == "Constant" and chosen(node.data)]
    for constant in constants[:most]:
        changed = op.constant(change(constant.data).astype(constant.data.dtype))
        constant.output(0).replace(changed.output(0))
    ov.save_model(graph, folder / "changed.xml", compress_to_fp16=False)
    for suffix in (".xml", ".bin"):
        (folder / f"changed{suffix}").replace(folder / f"{name}{suffix}")


def _is_product(array: NDArray[Any]) -> bool:
    return array.dtype == np.int8 and array.ndim == 2


def _is_scale(array: NDArray[Any]) -> bool:
    return array.dtype == np.float32 and array.ndim == 2 and array.shape[0] > array.shape[1] == 1


@pytest.fixture(scope="module")
def base(exported: Path) -> list[Check]:
    """Those of Whisper base, with one recording."""
    people = short_recordings()[:1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checks, "processors", lambda: 1)
        patch.setattr(checks, "spoken_windows", lambda _: [Spoken("en", people[0].text, people[0].samples())])
        patch.setattr(checks, "short_recordings", lambda: people)
        return compare(whisper_base(), exported, "whisper_turbo", "int8")


def test_a_correct_graph_passes(base: list[Check]) -> None:
    assert all(check.passed for check in base)
    assert base[0].difference == pytest.approx(0.97, abs=0.12)


def test_whisper_base_hears_people_with_little_silence(base: list[Check]) -> None:
    assert base[-1].what.endswith("with little silence (0% of 2 again)")


@pytest.mark.parametrize(
    ("chosen", "change", "most"),
    [
        (_is_product, lambda weight: np.rint(weight / 2) * 2, 1000),
        (_is_product, lambda weight: np.roll(weight, 1, axis=1), 1),
        (_is_scale, np.ones_like, 1),
    ],
    ids=["weights of 7 bits", "one layer's rows moved", "one layer without scales"],
)
@pytest.mark.usefixtures("spoken")
def test_a_slightly_wrong_graph_fails(
    small: Path, copied: Path, chosen: Callable[[NDArray[Any]], bool], change: Change, most: int
) -> None:
    _changed(copied, "encoder", chosen, change, most)
    assert not compare(small, copied, "whisper_turbo", "int8")[0].passed


@pytest.mark.usefixtures("spoken")
def test_a_decoder_that_writes_other_words_fails(small: Path, copied: Path) -> None:
    """Its token embedding is read a row too late."""
    assert all(check.passed for check in compare(small, copied, "whisper_turbo", "int8"))
    _changed(copied, "decoder", lambda array: array.shape == (51_866, 128), lambda rows: np.roll(rows, 1, axis=0), 1)
    assert not compare(small, copied, "whisper_turbo", "int8")[1].passed


@pytest.mark.usefixtures("spoken")
def test_float16_is_compared_on_a_processor_and_not_checked_on_cuda(small: Path, tmp_path: Path) -> None:
    whisper.convert(small, tmp_path / "float16", "float16")
    encoder, more, unlike, _, cuda = compare(small, tmp_path / "float16", "whisper_turbo", "float16")
    assert (encoder.passed, more.passed, unlike.difference) == (True, True, 0)
    assert (cuda.passed, cuda.failed) == (False, False)
    assert "never on CUDA" in cuda.what


def test_every_recording_is_in_a_window_of_its_language_and_no_window_is_over_30_seconds() -> None:
    windows = spoken_windows(30.0)
    assert max(len(window.audio) for window in windows) <= 30 * 16_000
    assert len(windows) < 15
    for recording in recordings.recordings():
        assert any(recording.text in window.text for window in windows if window.language == recording.language)


def test_weights_are_rounded_only_while_their_layer_computes() -> None:
    layer = torch.nn.Linear(2, 1, bias=False)
    layer.weight.data = torch.tensor([[127.0, 50.4]])
    given = torch.tensor([[127.0, 3.3]])
    with checks.rounded_to_int8(layer):
        rounded = layer(given).item()
        kept = layer.weight.tolist()
    assert rounded == 127 * 127 + 50 * 3
    assert kept == [[127.0, pytest.approx(50.4)]]
    assert layer(given).item() == pytest.approx(127 * 127 + 50.4 * 3.3)


@pytest.mark.parametrize(
    ("wanted", "found", "errors"),
    [
        (["a b c d"], ["a b c d"], 0),
        (["a b c d"], ["a b e d"], 0.25),
        (["a b", "c d"], ["a b c", "d"], 0.5),
        ([""], ["a"], 1),
        ([""], [""], 0),
    ],
)
def test_the_word_error_counts_inserted_removed_and_replaced_words(
    wanted: list[str], found: list[str], errors: float
) -> None:
    assert word_error([each.split() for each in wanted], [each.split() for each in found]) == errors


# Short windows


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
    (person,) = recordings.recordings("en", most=1)
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


@pytest.mark.usefixtures("spoken")
@pytest.mark.parametrize(("harm", "silence", "named"), [(0.0, 6, "20 again"), (0.5, 8, "encoded whole")])
def test_an_export_that_little_silence_harms_has_all_of_it(
    small: Path, copied: Path, monkeypatch: pytest.MonkeyPatch, harm: float, silence: int, named: str
) -> None:
    monkeypatch.setattr(checks, "little_silence", lambda *_: LittleSilence(20, harm, 0.0))
    short = compare(small, copied, "whisper_turbo", "int8")[-1]
    assert json.loads((copied / "quartet.json").read_text(encoding="utf-8"))["silence_seconds"] == silence
    assert named in short.what
    assert short.passed
