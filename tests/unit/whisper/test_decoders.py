"""OpenVINO's greedy decoding, beside CTranslate2's of the same export."""

import json
import shutil
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from scripts.export_models.whisper.checks import spoken_windows
from scripts.export_models.whisper.served import recognizer_module

TIMES, END, WORD = 100, 90, 7
START, SILENT = 91, 98


@pytest.fixture(scope="module")
def recognizers(module: ModuleType, exported: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    """Of one export, with its graphs and by CTranslate2 alone, with one encoder."""
    folder = tmp_path_factory.mktemp("greedy") / "int8"
    shutil.copytree(exported, folder)
    settings = json.loads((folder / "quartet.json").read_text(encoding="utf-8"))
    (folder / "quartet.json").write_text(json.dumps({**settings, "beam_size": 1}), encoding="utf-8")
    with_graphs, alone = (module.Recognizer(folder) for _ in range(2))
    alone._decoder = None
    return with_graphs, alone


def test_what_a_beam_has_no_use_for_is_not_computed(module: ModuleType, exported: Path, windows: list[Any]) -> None:
    recognizer = module.Recognizer(exported)
    (job,) = recognizer._encode(windows[:1])
    assert (recognizer._beam_size, recognizer._decoder, job.encoded.attended) == (5, None, {})


@pytest.fixture(scope="module")
def windows(module: ModuleType) -> list[Any]:
    return [module.Window(audio, language=language) for language, audio in spoken_windows(8.0, 3)]


def test_the_same_is_heard_as_by_ctranslate2(recognizers: tuple[Any, Any], windows: list[Any]) -> None:
    ours, theirs = (each.transcribe(windows) for each in recognizers)
    assert [each.tokens for each in ours] == [each.tokens for each in theirs]
    for name in ("avg_logprob", "no_speech_prob"):
        assert np.allclose([getattr(each, name) for each in ours], [getattr(each, name) for each in theirs], atol=0.03)


def test_a_window_is_heard_the_same_alone_and_beside_longer_ones(
    recognizers: tuple[Any, Any], windows: list[Any]
) -> None:
    ours, _ = recognizers
    together = ours.transcribe(windows)
    assert len({len(each.tokens) for each in together}) > 3
    assert [ours.transcribe([window])[0].tokens for window in windows] == [each.tokens for each in together]


def test_a_language_is_detected_as_by_ctranslate2(
    module: ModuleType, recognizers: tuple[Any, Any], windows: list[Any]
) -> None:
    unknown = [module.Window(window.audio) for window in windows]
    ours, theirs = ([each.language for each in its.transcribe(unknown)] for its in recognizers)
    assert ours == theirs == [window.language for window in windows]


def test_a_prompt_is_heard_as_by_ctranslate2(
    module: ModuleType, recognizers: tuple[Any, Any], windows: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    prompted = [module.Window(window.audio, language=window.language, prompt="the meeting") for window in windows[:3]]
    for each in recognizers:
        monkeypatch.setattr(each, "_takes_prompts", True)
    # The demo does not know prompts, and soon babbles where the least rounding decides.
    ours, theirs = ([each.tokens[:2] for each in its.transcribe(prompted)] for its in recognizers)
    assert ours == theirs


def test_decoding_ends_after_the_most_tokens(recognizers: tuple[Any, Any], windows: list[Any]) -> None:
    ours, _ = recognizers
    jobs = ours._encode([windows[0]] * 2)
    for job in jobs:
        job.language = job.window.language
    prompts = [ours._prompt(job) for job in jobs]
    decoded = ours._decoder.decode([job.encoded for job in jobs], prompts, 4)
    assert [len(each.tokens) for each in decoded] == [4, 4]


@pytest.fixture
def special() -> Any:
    """Ids below ``END`` are words, those from ``TIMES`` on are times."""
    return recognizer_module("decoders").Special(
        start=START, end=END, no_speech=SILENT, first_timestamp=TIMES, suppressed=[5], languages=[92]
    )


def _left(special: Any, told: list[int], scores: NDArray[np.float32] | None = None) -> set[int]:
    """What may follow; all words are likelier than all times, unless other scores are given."""
    given = np.where(np.arange(200) < TIMES, 9.0, 0.0).astype(np.float32) if scores is None else scores.copy()
    special.rule_out(given, told)
    return set(np.flatnonzero(np.isfinite(given)).tolist())


def test_the_first_token_is_a_time_of_the_first_second(special: Any) -> None:
    assert _left(special, []) == set(range(TIMES, TIMES + 51))


def test_behind_the_first_time_comes_no_other(special: Any) -> None:
    assert max(_left(special, [TIMES])) < TIMES


def test_behind_a_word_come_words_the_end_and_later_times(special: Any) -> None:
    assert _left(special, [TIMES + 3, WORD]) == set(range(TIMES - 1)) - {5} | set(range(TIMES + 3, 200))


def test_behind_the_end_of_a_segment_come_its_like_or_the_end(special: Any) -> None:
    left = _left(special, [TIMES, WORD, TIMES + 20])
    assert left == set(range(END, TIMES - 1)) | set(range(TIMES + 20, 200))


def test_behind_two_times_comes_a_word(special: Any) -> None:
    assert max(_left(special, [TIMES, WORD, TIMES + 20, TIMES + 20])) < TIMES


def test_times_that_are_together_likelier_than_each_word_leave_no_word(special: Any) -> None:
    scores = np.zeros(200, np.float32)
    assert _left(special, [TIMES, WORD], scores) == set(range(TIMES, 200))


def test_suppressed_tokens_and_the_one_without_times_are_never_said(special: Any) -> None:
    assert {5, TIMES - 1}.isdisjoint(_left(special, [TIMES, WORD]))
