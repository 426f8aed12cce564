import numpy as np

from scripts.export_models.kokoro.checks import RATE, Array, difference

_TIME = np.arange(RATE) / RATE


def _tone(hertz: float) -> Array:
    tone = 0.3 * np.sin(2 * np.pi * hertz * _TIME) * (1 + np.sin(6 * _TIME))
    return np.asarray(tone, np.float32)


def test_a_sound_does_not_differ_from_itself() -> None:
    assert difference(_tone(200), _tone(200)) == 0


def test_other_phases_and_a_frame_more_hardly_matter() -> None:
    later = np.concatenate([np.zeros(600, np.float32), -_tone(200)])
    assert difference(_tone(200), later) < 0.1


def test_another_tone_matters() -> None:
    assert difference(_tone(200), _tone(900)) > 0.3


def test_a_sound_that_is_no_number_differs() -> None:
    assert not difference(_tone(200), np.full(RATE, np.nan, np.float32)) <= 1
