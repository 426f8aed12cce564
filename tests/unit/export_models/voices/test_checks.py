"""The comparison of voices, with fake sessions."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray

from scripts.export_models.voices import passes
from scripts.export_models.voices.checks import Arrays, Infer, Open, compare, session, utterances, with_seeds

SPOKEN = utterances(range(1, 100), speakers=False)


def _sessions(length: Callable[[int], int] = lambda ids: ids, added: float = 0.0) -> Open:
    """Sessions that say random numbers, which go on from call to call; ``length`` is that of a sentence."""

    def begun() -> Infer:
        rng = np.random.default_rng(0)

        def infer(inputs: Arrays) -> NDArray[np.float32]:
            return rng.normal(size=length(inputs["input"].shape[1])).astype(np.float32) + np.float32(added)

        return infer

    return begun


def test_more_than_twenty_sentences_of_one_to_300_ids_are_said() -> None:
    lengths = [inputs["input"].shape[1] for inputs in SPOKEN]
    assert len(lengths) >= 20
    assert (min(lengths), max(lengths)) == (1, 300)
    assert len(set(lengths)) == len(lengths)
    assert all((inputs["input_lengths"] == inputs["input"].shape[1]).all() for inputs in SPOKEN)


def test_sentences_are_said_with_noise() -> None:
    assert all((inputs["scales"] > 0).all() for inputs in SPOKEN)


def test_a_voice_of_several_speakers_is_given_one() -> None:
    assert [inputs["sid"].tolist() for inputs in utterances([1], speakers=True)[:1]] == [[0]]


def test_the_same_sound_passes() -> None:
    assert [check.difference for check in compare("m", SPOKEN, _sessions(), _sessions())] == [0, 0]


@pytest.mark.parametrize(("added", "passes"), [(5e-5, True), (2e-4, False), (float("nan"), False)])
def test_samples_may_differ_by_a_ten_thousandth(added: float, passes: bool) -> None:
    samples, lengths = compare("m", SPOKEN, _sessions(), _sessions(added=added))
    assert (samples.passed, lengths.passed) == (passes, True)


def test_one_sentence_may_have_another_length_and_later_ones_are_compared_with_the_same_noise() -> None:
    samples, lengths = compare("m", SPOKEN, _sessions(), _sessions(lambda ids: ids + (ids == 300)))
    middle = SPOKEN[12]["input"].shape[1]
    again, others = compare("m", SPOKEN, _sessions(), _sessions(lambda ids: ids + (ids == middle)))
    assert all(check.passed for check in (samples, lengths, again, others))
    assert lengths.difference == others.difference == 1 / len(SPOKEN)


def test_two_sentences_of_another_length_fail() -> None:
    others = [SPOKEN[at]["input"].shape[1] for at in (5, 12)]
    _, lengths = compare("m", SPOKEN, _sessions(), _sessions(lambda ids: ids + (ids in others)))
    assert not lengths.passed


def test_with_seeds_two_graphs_of_a_voice_draw_the_same_noise(source: Path) -> None:
    original, ours = onnx.load(source), onnx.load(source)
    passes.rewrite(ours)
    one, other = (session(with_seeds(model), 1) for model in (original, ours))
    first = one(SPOKEN[8])
    assert np.abs(first - other(SPOKEN[8])).max() < 1e-6
    # A session draws on: its next sentence has other noise.
    second = one(SPOKEN[8])
    assert np.abs(second - other(SPOKEN[8])).max() < 1e-6
    assert np.abs(second - first).max() > 1e-4
