"""Each window of a batch is answered when it is done, and nobody waits for another's bad one."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.unit.whisper.engines import BAD, GOOD, LOUD, QUIET, Said, ScriptedEngine, noise

LOOP = "and then " * 20
GAP = Said("One. Two", starts=[0.0, 0.5, 4.0, 4.5])


@pytest.fixture
def scripted(scripted_with: Callable[..., ScriptedEngine]) -> ScriptedEngine:
    return scripted_with()


def _answered(scripted: ScriptedEngine, *windows: Mapping[str, Any]) -> list[tuple[int, int]]:
    """The place of each window in the order of their answers, and how many calls of ``decode`` came before."""
    answers = scripted.recognizer.answers([noise(**values) for values in windows])
    return [(place, len(scripted.calls)) for place, _ in answers]


def test_clean_windows_are_answered_before_a_bad_one_is_decoded_again(scripted: ScriptedEngine) -> None:
    scripted.answer = lambda window, language, temperature: Said("hello", BAD if window in (1, 4) else GOOD)
    assert _answered(scripted, {}, {}, {}, {}) == [(0, 1), (2, 1), (3, 1), (1, 7)]


def test_bad_windows_are_decoded_again_together(scripted: ScriptedEngine) -> None:
    scripted.answer = lambda window, language, temperature: Said("hello", BAD if window in (0, 2, 3, 4) else GOOD)
    _answered(scripted, {}, {}, {})
    assert [call.windows for call in scripted.calls] == [[0, 1, 2], *[[3, 4]] * 6]


def test_a_window_is_answered_at_the_temperature_at_which_it_is_sure(scripted: ScriptedEngine) -> None:
    scripted.answer = lambda window, language, temperature: Said(
        "hello", GOOD if temperature >= (0.2, 0.6)[window % 2] else BAD + temperature
    )
    assert _answered(scripted, {}, {}) == [(0, 3), (1, 5)]


def test_a_loop_that_all_of_the_silence_ends_is_answered_after_it(scripted: ScriptedEngine) -> None:
    scripted.answer = lambda window, language, temperature: (
        Said(LOOP) if window == 0 else Said("hello", BAD if window in (1, 4) else GOOD)
    )
    assert _answered(scripted, {}, {}, {}) == [(2, 1), (0, 2), (1, 7)]


def test_short_windows_are_answered_before_long_ones_are_encoded(scripted: ScriptedEngine) -> None:
    windows = [noise(seconds, translate=True) for seconds in (20.0, 1.0, 8.0)]
    answers = scripted.recognizer.answers(windows)
    found = [(next(answers)[0], len(scripted.encoded)) for _ in windows]
    assert found == [(1, 1), (2, 2), (0, 3)]


def test_who_has_a_gap_waits_for_it_and_nobody_else_does(scripted: ScriptedEngine) -> None:
    scripted.answer = lambda window, language, temperature: (
        GAP if window == 0 else Said("again", starts=[0.0, 1.0]) if window == 3 else Said("hello")
    )
    windows = {"seconds": 5.0}, {"seconds": 5.0, "translate": True}, {"seconds": 8.0, "translate": True}
    assert _answered(scripted, *windows) == [(1, 1), (2, 2), (0, 3)]


def test_a_gap_does_not_wait_for_a_bad_window(scripted: ScriptedEngine) -> None:
    scripted.answer = lambda window, language, temperature: (
        GAP if window == 0 else Said("again", starts=[0.0, 1.0]) if window == 2 else Said("hello", BAD)
    )
    assert [place for place, _ in _answered(scripted, {"seconds": 5.0}, {"seconds": 5.0, "translate": True})] == [0, 1]


def test_what_has_no_words_is_answered_as_silence(scripted: ScriptedEngine) -> None:
    scripted.answer = lambda window, language, temperature: Said("thanks", BAD, QUIET) if window else Said("hello")
    assert _answered(scripted, {}, {}) == [(0, 1), (1, 1)]


@pytest.mark.parametrize("leaves", [0, 1, 2, 4])
def test_who_is_gone_is_left_out_of_the_next_pass(scripted: ScriptedEngine, leaves: int) -> None:
    """The second caller leaves after so many calls of ``decode``."""
    scripted.answer = lambda window, language, temperature: Said("hello", BAD)
    answers = scripted.recognizer.answers(
        [noise(), noise()], lambda place: place == 1 and len(scripted.calls) >= leaves
    )
    places = [place for place, _ in answers]
    assert places == [0]
    assert [len(call.windows) for call in scripted.calls] == [2] * leaves + [1] * (7 - leaves)


def test_nothing_is_computed_for_callers_who_are_all_gone(scripted: ScriptedEngine) -> None:
    assert list(scripted.recognizer.answers([noise(), noise(20.0)], lambda place: True)) == []
    assert (scripted.encoded, scripted.calls) == ([], [])


def test_no_gap_is_filled_for_a_caller_who_is_gone(scripted: ScriptedEngine) -> None:
    scripted.answer = lambda window, language, temperature: GAP
    assert list(scripted.recognizer.answers([noise(5.0)], lambda place: bool(scripted.calls))) == []
    assert len(scripted.calls) == 1


def test_all_windows_are_answered_once_and_in_their_places(scripted: ScriptedEngine) -> None:
    scripted.answer = lambda window, language, temperature: Said(
        f"number {window}", (GOOD, BAD, GOOD)[window % 3], LOUD, [0.0, 0.5, 1.0]
    )
    windows = [{"seconds": 1.0 + place % 4, "translate": True} for place in range(12)]
    places = [place for place, _ in _answered(scripted, *windows)]
    assert sorted(places) == list(range(12))
    assert len(scripted.hear(*windows)) == 12
