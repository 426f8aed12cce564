"""Kokoro's runtime, with a graph whose sound is its tokens between two silences."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
import pytest
from openvino import opset13 as op

from scripts.export_models.triton_code import triton_module

_BEFORE, _AFTER, _MARGIN = 5000, 4000, 1200


@pytest.fixture
def speaker(tmp_path: Path) -> Any:
    tokens = op.parameter([1, -1], np.int64, name="tokens")
    style, speed = op.parameter([1, 256], np.float32, name="style"), op.parameter([1], np.float32, name="speed")
    for node in (tokens, style, speed):
        node.output(0).set_names({node.get_friendly_name()})
    numbers = {value: op.constant([value], np.int64) for value in (-1, 0, 1, _BEFORE, _AFTER)}
    said = op.multiply(op.reshape(op.convert(tokens, np.float32), numbers[-1], special_zero=False), speed)
    loudness = op.reduce_mean(style, op.constant([0, 1], np.int64))
    audio = op.pad(op.multiply(said, loudness), numbers[_BEFORE], numbers[_AFTER], "constant")
    audio.output(0).set_names({"audio"})
    ov.save_model(ov.Model([audio], [tokens, style, speed]), tmp_path / "kokoro.xml", compress_to_fp16=False)
    (tmp_path / "voices.json").write_text(json.dumps({"processor_flags": []}), encoding="utf-8")
    return triton_module("kokoro", "speaker").Speaker(tmp_path, 1)


def _say(speaker: Any, *tokens: int, loudness: float = 0.5) -> list[float]:
    style = np.full(256, loudness, np.float32)
    sound: list[float] = speaker.speak(np.array(tokens), style, np.ones(1, np.float32)).tolist()
    return sound


def test_the_silence_at_both_ends_is_cut_off_but_for_a_twentieth_of_a_second(speaker: Any) -> None:
    assert _say(speaker, 0, 1, 1, 0) == [*[0.0] * _MARGIN, 0.5, 0.5, *[0.0] * _MARGIN]


def test_silence_within_stays(speaker: Any) -> None:
    assert len(_say(speaker, 1, 0, 0, 0, 1)) == 5 + 2 * _MARGIN


def test_a_sound_of_nothing_but_silence_stays(speaker: Any) -> None:
    assert len(_say(speaker, 1, 1, loudness=0.001)) == _BEFORE + 2 + _AFTER
