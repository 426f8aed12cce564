from types import ModuleType
from typing import Any

import numpy as np
import pytest

from scripts.export_models.whisper.served import recognizer_module

LOOP = "and then " * 20


@pytest.fixture(scope="module")
def windows(module: ModuleType) -> ModuleType:
    return recognizer_module("windows")


def _attempt(avg_logprob: float = -0.2, no_speech_prob: float = 0.1, text: str = "hello") -> Any:
    """Of nine tokens and the end."""
    decoded = recognizer_module("engines").Decoded([1] * 9, avg_logprob * 10, no_speech_prob)
    return recognizer_module("windows").Attempt(decoded, text)


def _job(*attempts: Any, temperature: float = 0.0, **values: Any) -> Any:
    windows, engines = recognizer_module("windows"), recognizer_module("engines")
    window = windows.Window(np.zeros(24_000, np.float32), temperature=temperature)
    encoded = engines.Encoded(np.zeros((1, 1, 1), np.float32))
    return windows.Job(window, encoded, attempts=list(attempts), **values)


@pytest.mark.parametrize("temperature", [0.0, 5e-324, 1e-45, 1e-38, 1e-4])
def test_a_temperature_too_low_to_sample_at_is_none(windows: ModuleType, temperature: float) -> None:
    assert windows.Window(np.zeros(1, np.float32), temperature=temperature).sampling_temperature == 0.0


@pytest.mark.parametrize("temperature", [0.001, 0.2, 1.0])
def test_a_temperature_is_sampled_at(windows: ModuleType, temperature: float) -> None:
    assert windows.Window(np.zeros(1, np.float32), temperature=temperature).sampling_temperature == temperature


def test_the_end_counts_as_a_token() -> None:
    assert recognizer_module("engines").Decoded([1, 2, 3], -2.0, 0.0).avg_logprob == -0.5


@pytest.mark.parametrize(
    ("attempt", "passes"),
    [
        ({}, True),
        ({"avg_logprob": -1.0}, True),
        ({"avg_logprob": -1.1}, False),
        ({"text": LOOP}, False),
        ({"avg_logprob": -1.1, "no_speech_prob": 0.61}, True),
        ({"avg_logprob": -1.1, "no_speech_prob": 0.6}, False),
        ({"text": LOOP, "no_speech_prob": 0.9}, False),
    ],
    ids=["sure", "just sure", "unsure", "repeats itself", "silent", "perhaps silent", "repeats itself in silence"],
)
def test_what_is_sure_or_silent_need_not_be_decoded_again(attempt: dict[str, Any], passes: bool) -> None:
    assert _attempt(**attempt).passes is passes


@pytest.mark.parametrize(
    ("avg_logprob", "no_speech_prob", "speechless", "silent"),
    [(-1.1, 0.7, True, True), (-0.9, 0.7, True, False), (-1.1, 0.5, False, False)],
)
def test_a_window_is_silent_if_the_model_hears_nobody_and_is_unsure_of_its_text(
    avg_logprob: float, no_speech_prob: float, speechless: bool, silent: bool
) -> None:
    attempt = _attempt(avg_logprob, no_speech_prob)
    assert (attempt.speechless, attempt.silent) == (speechless, silent)


@pytest.mark.parametrize(
    ("attempts", "temperature", "doubtful"),
    [
        ([_attempt()], 0.0, False),
        ([_attempt(-1.5)], 0.0, True),
        ([_attempt(-1.5)], 0.5, False),
        ([_attempt(-1.5), _attempt()], 0.0, False),
        ([_attempt(-1.5), _attempt(-1.4)], 0.0, True),
    ],
    ids=["sure", "unsure", "unsure at the caller's temperature", "sure at last", "still unsure"],
)
def test_a_window_is_doubtful_until_an_attempt_passes(attempts: list[Any], temperature: float, doubtful: bool) -> None:
    assert _job(*attempts, temperature=temperature).doubtful is doubtful


@pytest.mark.parametrize(
    ("attempts", "best"),
    [
        ([_attempt(-1.5), _attempt(-0.9)], 1),
        ([_attempt(-1.5), _attempt(-1.2), _attempt(-1.4)], 1),
        ([_attempt(-0.1, text=LOOP), _attempt(-1.5), _attempt(-1.4)], 2),
        ([_attempt(-0.3, text=LOOP), _attempt(-0.2, text=LOOP), _attempt(-0.4, text=LOOP)], 1),
        ([_attempt(-1.2), _attempt(-1.5, no_speech_prob=0.9)], 1),
    ],
    ids=["the last passes", "the likeliest", "without loops", "of loops alone", "silent at last"],
)
def test_the_best_attempt_is_answered(attempts: list[Any], best: int) -> None:
    assert _job(*attempts).best is attempts[best]


def test_a_language_is_as_likely_as_it_and_its_first_transcript_are() -> None:
    job = _job(_attempt(-0.2), _attempt(-0.1), language_logprob=-3.0)
    # Nine tokens, the end and the language.
    assert job.logprob_with_language == pytest.approx((-3.0 + 10 * -0.2) / 11)


def test_a_job_lasts_as_long_as_its_audio() -> None:
    assert _job().seconds == 1.5


def test_a_transcript_has_the_probabilities_of_the_best_attempt() -> None:
    word = recognizer_module("transcript").Word(0.0, 0.5, " hello", 0.75)
    job = _job(_attempt(-1.3, 0.3), _attempt(-1.5, 0.4), language="it", words=[word])
    transcript = job.transcript()
    assert (transcript.language, transcript.words) == ("it", [word])
    assert (transcript.avg_logprob, transcript.no_speech_prob) == (pytest.approx(-1.3), 0.3)
