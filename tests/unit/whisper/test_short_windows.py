"""Windows that are encoded with some seconds of silence instead of 30 s, by a scripted engine and of people."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import jiwer
import numpy as np
import pytest

from client.recordings import recordings, words
from tests.unit.whisper.engines import BAD, GOOD, LOUD, QUIET, SAMPLE_RATE, Said, ScriptedEngine, features_of, noise

LOOP = "and then " * 20
SHORT, WHOLE = 800, 3000


@pytest.fixture
def scripted(scripted_with: Callable[..., ScriptedEngine]) -> ScriptedEngine:
    return scripted_with()


def _texts(transcripts: list[Any]) -> list[str]:
    return ["".join(word.text for word in transcript.words).strip() for transcript in transcripts]


def _lengths(scripted: ScriptedEngine) -> list[int]:
    """The features of each window in the order in which they were encoded."""
    return [features.shape[-1] for features in scripted.encoded for _ in features]


def _first_says(scripted: ScriptedEngine, first: Said, then: Said) -> None:
    """What the first window says, and what the others say."""
    scripted.answer = lambda window, language, temperature: then if window else first


@pytest.mark.parametrize(
    ("seconds", "encoded"),
    [
        (0.01, 8),
        (2.0, 8),
        (2.01, 10),
        (4.0, 10),
        (17.99, 24),
        (22.01, 30),
        (24.0, 30),
        (30.0, 30),
    ],
)
def test_a_window_is_encoded_with_six_seconds_of_silence_in_even_seconds(
    scripted: ScriptedEngine, seconds: float, encoded: int
) -> None:
    scripted.hear({"seconds": seconds, "translate": True})
    (features,) = scripted.encoded
    assert np.array_equal(features, features_of(noise(seconds).audio, encoded))


@pytest.mark.parametrize(
    "settings",
    [
        {"silence_seconds": 30},
        {"silence_seconds": 30, "step_seconds": 1},
        {"silence_seconds": None, "step_seconds": None},
    ],
    ids=["switched off", "switched off with small steps", "an export of an earlier version"],
)
def test_all_windows_may_be_whole(scripted_with: Callable[..., ScriptedEngine], settings: dict[str, Any]) -> None:
    scripted = scripted_with(**settings)
    scripted.hear({"seconds": 0.5}, {"seconds": 2.5})
    assert _lengths(scripted) == [WHOLE, WHOLE]


def test_silence_and_steps_may_be_others(scripted_with: Callable[..., ScriptedEngine]) -> None:
    scripted = scripted_with(silence_seconds=2.5, step_seconds=0.5)
    scripted.hear({"seconds": 1.2})
    assert _lengths(scripted) == [400]


@pytest.mark.parametrize(
    "first",
    [
        Said(LOOP, GOOD),
        Said("it was unsure", BAD),
        Said("it was unsure", BAD, LOUD),
        Said("the number is the number is", GOOD),
        Said("The number is. the NUMBER, is not", GOOD),
        Said("the number is the number is", GOOD, QUIET),
        Said(" ".join(f"number {count}" for count in range(60)), GOOD),
        Said("the number is the number is", BAD, QUIET),
    ],
    ids=["loop", "unsure", "loud", "twice", "twice with signs", "twice in silence", "too long", "unsure in silence"],
)
def test_what_looks_wrong_is_recognised_again_with_all_of_its_silence(scripted: ScriptedEngine, first: Said) -> None:
    _first_says(scripted, first, Said("hello"))
    assert _texts(scripted.hear({})) == ["hello"]
    assert _lengths(scripted) == [SHORT, WHOLE]
    assert scripted.temperatures == [0.0, 0.0]
    assert scripted.recognizer.second_passes == 1


@pytest.mark.parametrize(
    ("said", "language"),
    [
        (Said("hello"), "en"),
        (Said("no no no no"), "en"),
        (Said("bye bye, bye bye"), "en"),
        (Said("the number is and the number is"), "en"),
        (Said("thank you", BAD, QUIET), "en"),
        (Said("谢谢谢谢"), "zh"),
        (Said("はい、はい"), "ja"),
    ],
    ids=["sure", "a word", "two words", "not at once", "silence", "Chinese", "Japanese"],
)
def test_what_looks_right_is_not_recognised_again(scripted: ScriptedEngine, said: Said, language: str) -> None:
    scripted.answer = lambda window, language, temperature: said
    scripted.hear({"language": language})
    assert scripted.recognizer.second_passes == 0
    assert scripted.temperatures == [0.0]


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("请稍后再拨请稍后再拨", "zh"),
        ("もう一度お願いします。もう一度お願いします。", "ja"),
        ("ขอบคุณขอบคุณ", "th"),
    ],
)
def test_repetition_is_seen_without_spaces_between_words(scripted: ScriptedEngine, text: str, language: str) -> None:
    _first_says(scripted, Said(text), Said("好"))
    assert _texts(scripted.hear({"language": language})) == ["好"]
    assert scripted.recognizer.second_passes == 1


def test_a_repetition_in_a_translation_is_one_of_words(scripted: ScriptedEngine) -> None:
    _first_says(scripted, Said("one two three one two three"), Said("one"))
    assert _texts(scripted.hear({"language": "zh", "translate": True})) == ["one"]


def test_a_window_with_all_of_its_silence_is_not_recognised_twice(scripted: ScriptedEngine) -> None:
    scripted.answer = lambda window, language, temperature: Said("one two three one two three")
    assert _texts(scripted.hear({"seconds": 25.0, "translate": True})) == ["one two three one two three"]
    assert _lengths(scripted) == [WHOLE]


def test_higher_temperatures_come_after_all_of_the_silence(scripted: ScriptedEngine) -> None:
    scripted.answer = lambda window, language, temperature: Said(f"{window} at {temperature}", BAD + temperature)
    scripted.hear({})
    assert [(call.windows, call.temperature) for call in scripted.calls][:3] == [([0], 0.0), ([1], 0.0), ([1], 0.2)]


@pytest.mark.parametrize("temperature", [0.2, 1.0])
def test_a_callers_temperature_holds_for_both_passes_and_no_other_is_tried(
    scripted: ScriptedEngine, temperature: float
) -> None:
    scripted.answer = lambda window, language, temperature: Said(f"pass {window}", BAD)
    assert _texts(scripted.hear({"temperature": temperature})) == ["pass 1"]
    assert scripted.temperatures == [temperature] * 2


def test_only_what_looks_wrong_is_recognised_again(scripted: ScriptedEngine) -> None:
    scripted.answer = lambda window, language, temperature: Said(LOOP if window == 1 else f"window {window}")
    assert _texts(scripted.hear({}, {}, {})) == ["window 0", "window 3", "window 2"]
    assert [call.windows for call in scripted.calls] == [[0, 1, 2], [3]]


def test_the_language_is_detected_again_unless_it_is_given(scripted: ScriptedEngine) -> None:
    scripted.answer = lambda window, language, temperature: Said(f"in {language}", GOOD if window > 1 else BAD)
    transcripts = scripted.hear({"language": ""}, {"language": "de"})
    assert scripted.asked_for_languages == [[0], [2]]
    assert [transcript.language for transcript in transcripts] == ["fr", "de"]


def test_the_second_half_of_a_window_in_two_languages_keeps_its_place(scripted: ScriptedEngine) -> None:
    scripted.ranking = {"fr": 0.7, "en": 0.3}
    scripted.rankings_of_parts = [{"fr": 0.9, "en": 0.05}, {"fr": 0.9, "en": 0.05}, {"fr": 0.05, "en": 0.9}]
    looped, plain = Said(LOOP), Said("in one", GOOD, LOUD, [0.0, 0.5, 1.0])
    scripted.answer = lambda window, language, temperature: looped if window == 2 else plain
    (transcript,) = scripted.hear({"seconds": 6.0, "language": "", "translate": True})
    assert [word.text for word in transcript.words] == [" in", " one", " in", " one"]
    assert transcript.words[2].start > 3.0


def test_windows_of_one_length_are_decoded_together(scripted: ScriptedEngine) -> None:
    scripted.answer = lambda window, language, temperature: Said(f"window {window}")
    transcripts = scripted.hear(*({"seconds": each, "translate": True} for each in (1.0, 3.0, 2.0, 2.5, 30.0)))
    assert _lengths(scripted) == [800, 800, 1000, 1000, 3000]
    assert [call.windows for call in scripted.calls] == [[0, 1], [2, 3], [4]]
    assert _texts(transcripts) == [f"window {number}" for number in (0, 2, 1, 3, 4)]


def test_windows_that_are_encoded_together_go_up_in_steps_of_ten_seconds(
    scripted_with: Callable[..., ScriptedEngine],
) -> None:
    scripted = scripted_with(together=True)
    scripted.hear(*({"seconds": each, "translate": True} for each in (1.0, 5.0, 4.0, 20.0)))
    assert [features.shape for features in scripted.encoded] == [(2, 80, 1000), (1, 80, 2000), (1, 80, 3000)]


@pytest.mark.parametrize("company", [(), (2.0,), (1.8, 30.0)])
def test_a_first_attempt_has_ten_tokens_a_second_whatever_is_beside_it(
    scripted: ScriptedEngine, company: tuple[float, ...]
) -> None:
    scripted.hear({"seconds": 1.0}, *({"seconds": seconds} for seconds in company))
    assert scripted.calls[0].most == 24 + 10 * 2


def test_a_second_pass_has_the_tokens_of_a_whole_window(scripted: ScriptedEngine) -> None:
    _first_says(scripted, Said(LOOP), Said("hello"))
    scripted.hear({"seconds": 2.0})
    assert [call.most for call in scripted.calls] == [44, 74]


@pytest.mark.parametrize(
    ("text", "language", "seconds"),
    [
        ("सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है।", "hi", 5.2),
        ("সমস্ত মানুষ স্বাধীনভাবে সমান মর্যাদা এবং অধিকার নিয়ে জন্মগ্রহণ করে।", "bn", 4.9),
        ("ყველა ადამიანი იბადება თავისუფალი და თანასწორი თავისი ღირსებითა და უფლებებით.", "ka", 5.0),
    ],
)
@pytest.mark.parametrize("silence", [6, 30])
def test_languages_of_many_tokens_are_heard_at_once_and_to_their_end(
    scripted_with: Callable[..., ScriptedEngine], text: str, language: str, seconds: float, silence: int
) -> None:
    """As long as eSpeak takes to say it."""
    scripted = scripted_with(silence_seconds=silence)
    scripted.answer = lambda window, spoken, temperature: Said(text if spoken == language else "hello")
    scripted.hear({"seconds": seconds, "language": language}, {"seconds": seconds}, {"seconds": seconds})
    assert scripted.recognizer.second_passes == 0
    assert [call.windows for call in scripted.calls][:2] == [[0], [1, 2]]
    assert scripted.calls[0].most > len(scripted.ids(f" {text}"))


def test_a_translation_has_the_tokens_of_english(scripted: ScriptedEngine) -> None:
    scripted.hear({"language": "hi", "translate": True})
    assert scripted.calls[0].most == 24 + 10 * 2


def test_speech_without_words_is_as_short_as_it_lasts(scripted: ScriptedEngine) -> None:
    scripted.answer = lambda window, language, temperature: (
        Said("again", starts=[0.0, 1.0]) if window else Said("One. Two", starts=[0.0, 0.5, 12.0, 12.5])
    )
    scripted.hear({"seconds": 14.0})
    assert _lengths(scripted) == [2000, 1800]


def test_people_are_heard_as_with_all_of_the_silence(module: ModuleType, recognizer: Any) -> None:
    """In five languages, which are detected."""
    people = [recording for language in ("en", "es", "fr", "it", "ru") for recording in recordings(language)[-3:]]
    transcripts = recognizer.transcribe([module.Window(each.samples()) for each in people])
    assert [transcript.language for transcript in transcripts] == [each.language for each in people]
    texts = [each.text for each in people], _texts(transcripts)
    said, heard = ([" ".join(words(text)) for text in some] for some in texts)
    assert jiwer.wer(said, heard) < 0.05


@pytest.mark.parametrize("seconds", [0.6, 1.5])
def test_the_beginning_of_a_sentence_is_no_loop(module: ModuleType, recognizer: Any, seconds: float) -> None:
    windows = [
        module.Window(each.samples()[: round(seconds * SAMPLE_RATE)], language=each.language)
        for each in recordings("en", "fr", most=4)
    ]
    for text in _texts(recognizer.transcribe(windows)):
        assert len(text.split()) <= 8 * seconds
