"""The recognizer with a scripted engine, and transcripts of people."""

import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from client.recordings import Recorded, recordings
from scripts.export_models.triton_code import recognizer_module
from tests.unit.whisper.engines import BAD, GOOD, LOUD, QUIET, SAMPLE_RATE, Said, ScriptedEngine, features_of, noise

FALLBACKS = [0.2, 0.4, 0.6, 0.8, 1.0]
_PLAIN = re.compile(r"\w{4,}")
LOOP = "and then " * 20


@pytest.fixture
def scripted(scripted_with: Callable[..., ScriptedEngine]) -> ScriptedEngine:
    """An engine whose recognizer hears nothing but whole windows."""
    return scripted_with(silence_seconds=30)


def _text(transcript: Any) -> str:
    return "".join(word.text for word in transcript.words).strip()


@pytest.mark.parametrize(
    ("answer", "tried", "text"),
    [
        (lambda t: Said("hello"), [0.0], "hello"),
        (lambda t: Said(f"number {t}", GOOD if t == 0.4 else BAD), [0.0, 0.2, 0.4], "number 0.4"),
        (lambda t: Said("hello", -1.0), [0.0], "hello"),
        (lambda t: Said(f"number {t}", GOOD if t else -1.1), [0.0, 0.2], "number 0.2"),
        (lambda t: Said("hello" if t else LOOP), [0.0, 0.2], "hello"),
        (lambda t: Said("hello" if t else LOOP, GOOD, QUIET), [0.0, 0.2], "hello"),
        (lambda t: Said("hello", GOOD, QUIET), [0.0], "hello"),
        (lambda t: Said("hello", GOOD if t else -1.1, 0.6), [0.0, 0.2], "hello"),
    ],
    ids=[
        "sure",
        "unsure",
        "just sure",
        "just unsure",
        "repeats itself",
        "repeats itself in silence",
        "sure, though the model takes it for silence",
        "unsure, and perhaps silent",
    ],
)
def test_a_window_is_decoded_until_it_is_sure(
    scripted: ScriptedEngine, answer: Callable[[float], Said], tried: list[float], text: str
) -> None:
    scripted.answer = lambda window, language, temperature: answer(temperature)
    (transcript,) = scripted.hear({})
    assert _text(transcript) == text
    assert scripted.temperatures == tried


@pytest.mark.parametrize(
    ("answer", "best"),
    [
        (lambda t: Said(f"number {t}", BAD + 0.1 * (t == 0.6)), 0.6),
        (lambda t: Said(f"number {t}", BAD), 0.0),
        (lambda t: Said(f"number {t}" if t == 0.8 else f"number {t} {LOOP}", BAD + 0.1 * (t != 0.8)), 0.8),
    ],
    ids=["in between", "the first", "the only one that does not repeat itself"],
)
def test_without_a_passing_attempt_the_best_one_is_returned(
    scripted: ScriptedEngine, answer: Callable[[float], Said], best: float
) -> None:
    scripted.answer = lambda window, language, temperature: answer(temperature)
    (transcript,) = scripted.hear({})
    assert scripted.temperatures == [0.0, *FALLBACKS]
    assert _text(transcript) == f"number {best}"
    assert transcript.avg_logprob == pytest.approx(answer(best).avg_logprob)


def test_after_two_worse_attempts_no_other_is_made(scripted: ScriptedEngine) -> None:
    scripted.answer = lambda window, language, temperature: Said(f"number {temperature}", BAD - temperature)
    (transcript,) = scripted.hear({})
    assert (_text(transcript), scripted.temperatures) == ("number 0.0", [0.0, 0.2, 0.4])


def test_samples_are_the_same_each_time_unless_the_caller_chose_a_temperature(scripted: ScriptedEngine) -> None:
    scripted.answer = lambda window, language, temperature: Said("hello", GOOD if temperature else BAD)
    for _ in range(2):
        scripted.hear({}, {"temperature": 0.2})
    (_, asked, again), (_, second, third) = scripted.seeds[:3], scripted.seeds[3:]
    assert asked == second == [None]
    assert again == third != [None]


@pytest.mark.parametrize("temperature", [0.001, 0.2, 1.0])
def test_a_given_temperature_is_the_only_one(scripted: ScriptedEngine, temperature: float) -> None:
    scripted.answer = lambda window, language, temperature: Said("as asked", BAD)
    (transcript,) = scripted.hear({"temperature": temperature})
    assert _text(transcript) == "as asked"
    assert scripted.temperatures == [temperature]


@pytest.mark.parametrize("temperature", [5e-324, 1e-45, 1e-38, 1e-4])
def test_a_temperature_too_low_to_sample_at_is_none(scripted: ScriptedEngine, temperature: float) -> None:
    scripted.hear({"temperature": temperature})
    assert scripted.temperatures == [0.0]


def test_only_doubtful_windows_are_decoded_again(scripted: ScriptedEngine) -> None:
    scripted.answer = lambda window, language, temperature: Said("hello", BAD if window and temperature < 0.4 else GOOD)
    scripted.hear({}, {}, {"temperature": 0.3}, {})
    calls = [(call.windows, call.temperature) for call in scripted.calls]
    assert calls == [([0, 1, 3], 0.0), ([2], 0.3), ([1, 3], 0.2), ([1, 3], 0.4)]


def test_a_window_without_speech_has_no_words_and_is_not_tried_again(scripted: ScriptedEngine) -> None:
    scripted.answer = lambda window, language, temperature: Said("thank you for watching", BAD, QUIET)
    (transcript,) = scripted.hear({})
    assert scripted.temperatures == [0.0]
    assert (transcript.words, transcript.language, transcript.no_speech_prob) == ([], "en", QUIET)
    assert transcript.avg_logprob == pytest.approx(BAD)


def test_silent_windows_are_not_aligned(scripted: ScriptedEngine) -> None:
    scripted.answer = lambda window, language, temperature: Said("hello", *((BAD, QUIET) if window else (GOOD, LOUD)))
    scripted.hear({"seconds": 1.0}, {"seconds": 1.5})
    assert [seconds for _, _, seconds in scripted.aligned] == [[1.0]]


def test_a_prompt_comes_before_the_task(scripted: ScriptedEngine) -> None:
    scripted.hear({"prompt": " Anna and Marco "})
    whole = "<|startofprev|> Anna and Marco<|startoftranscript|><|en|><|transcribe|><|notimestamps|>"
    assert scripted.calls[0].prompts == [scripted.ids(whole)]


def test_a_long_prompt_has_half_of_the_context(scripted: ScriptedEngine) -> None:
    prompt = " ".join(f"word{number}" for number in range(200))
    scripted.hear({"prompt": prompt})
    ((given,),) = [call.prompts for call in scripted.calls]
    assert given == scripted.tokens.earlier(prompt, 224) + scripted.tokens.task("en")
    assert len(given) == 224 + 4


def test_prompts_of_one_length_are_decoded_together_in_all_languages(scripted: ScriptedEngine) -> None:
    scripted.hear({}, {"language": "de"}, {"prompt": "Anna"}, {"seconds": 2.0}, {"prompt": "Marco"})
    assert [call.windows for call in scripted.calls] == [[0, 1, 3], [2, 4]]
    assert [scripted.language_of(prompt) for prompt in scripted.calls[0].prompts] == ["en", "de", "en"]


@pytest.mark.parametrize(
    ("seconds", "prompt", "most"), [(1.0, "", 49), (2.5, "", 86), (30.0, "", 224), (30.0, "word " * 300, 220)]
)
def test_a_loop_ends_with_the_window_or_the_context(
    scripted: ScriptedEngine, seconds: float, prompt: str, most: int
) -> None:
    scripted.hear({"seconds": seconds, "prompt": prompt})
    assert scripted.calls[0].most == most


def test_of_windows_together_the_longest_says_how_many_tokens_may_come(scripted: ScriptedEngine) -> None:
    scripted.hear({"seconds": 1.0}, {"seconds": 2.5}, {"seconds": 2.0})
    assert [call.most for call in scripted.calls] == [86]


def test_no_more_windows_are_computed_together_than_the_engine_takes(scripted: ScriptedEngine) -> None:
    scripted.decodes_together = 2
    transcripts = scripted.hear(*[{"language": ""}] * 5)
    assert [len(asked) for asked in scripted.asked_for_languages] == [2, 2, 1]
    assert [call.windows for call in scripted.calls] == [[0, 1], [2, 3], [4]]
    assert [len(texts) for _, texts, _ in scripted.aligned] == [2, 2, 1]
    assert len(transcripts) == 5


@pytest.mark.parametrize(("together", "batches"), [(False, [1, 1, 1]), (True, [3])])
def test_windows_are_encoded_as_the_engine_does_it_faster(
    scripted: ScriptedEngine, together: bool, batches: list[int]
) -> None:
    scripted.encodes_together = together
    scripted.answer = lambda window, language, temperature: Said(("one", "two", "three")[window])
    transcripts = scripted.hear({}, {"seconds": 1.5}, {"seconds": 2.0})
    assert [len(features) for features in scripted.encoded] == batches
    assert [_text(transcript) for transcript in transcripts] == ["one", "two", "three"]


def test_a_window_is_padded_to_the_length_that_the_model_takes(scripted: ScriptedEngine) -> None:
    scripted.hear({"seconds": 1.0})
    assert np.array_equal(scripted.encoded[0], features_of(noise().audio))
    assert scripted.encoded[0].shape == (1, 80, 3000)


def test_words_are_aligned_behind_the_task_of_their_language(scripted: ScriptedEngine) -> None:
    scripted.answer = lambda window, language, temperature: Said(language)
    scripted.hear({"seconds": 1.0}, {"language": "de"}, {"seconds": 1.5})
    english, german = (scripted.tokens.task(code) for code in ("en", "de"))
    assert scripted.aligned == [(english, ["en", "en"], [1.0, 1.5]), (german, ["de"], [1.0])]


def test_windows_to_translate_are_decoded_together_with_others_and_aligned_apart(scripted: ScriptedEngine) -> None:
    scripted.hear({"language": "de"}, {"language": "de", "translate": True})
    tasks = [scripted.tokens.task("de"), scripted.tokens.task("de", translate=True)]
    (call,) = scripted.calls
    assert call.prompts == tasks
    assert [task for task, _, _ in scripted.aligned] == tasks


def test_a_translation_has_english_words_and_the_language_of_the_speech(scripted: ScriptedEngine) -> None:
    # In Chinese, each character is a word.
    scripted.answer = lambda window, language, temperature: Said("one two")
    spoken, translated = scripted.hear({"language": "zh"}, {"language": "zh", "translate": True})
    assert [word.text for word in translated.words] == [" one", " two"]
    assert (spoken.language, translated.language) == ("zh", "zh")


def test_a_gap_in_a_translation_is_not_decoded_again(scripted: ScriptedEngine) -> None:
    scripted.answer = lambda window, language, temperature: Said("One. Two", starts=[0.0, 0.5, 4.0, 4.5])
    scripted.hear({"seconds": 5.0, "translate": True})
    assert len(scripted.calls) == 1


def test_words_have_the_times_and_probabilities_of_their_tokens(scripted: ScriptedEngine) -> None:
    scripted.answer = lambda window, language, temperature: Said("one two", starts=[0.0, 0.5, 0.9])
    (transcript,) = scripted.hear({})
    words = [(word.text, word.start, word.end, word.probability) for word in transcript.words]
    assert words == [(" one", 0.0, 0.5, 0.5), (" two", 0.5, 0.9, 0.5)]


def test_missing_languages_are_detected_together(scripted: ScriptedEngine) -> None:
    transcripts = scripted.hear({"language": ""}, {}, {"language": ""})
    assert [transcript.language for transcript in transcripts] == ["fr", "en", "fr"]
    assert scripted.asked_for_languages == [[0, 2]]


@pytest.mark.parametrize(
    ("ranking", "decoded"),
    [
        ({"fr": 0.97, "it": 0.03}, ["fr"]),
        ({"fr": 0.95, "it": 0.05}, ["fr", "it"]),
        ({"fr": 0.5, "it": 0.3, "es": 0.1, "pt": 0.1}, ["fr", "it", "es"]),
        ({"fr": 0.04, "it": 0.03}, ["fr"]),
    ],
    ids=["one", "two", "three at most", "the likeliest where none is likely"],
)
def test_a_window_is_decoded_in_each_likely_language(
    scripted: ScriptedEngine, ranking: dict[str, float], decoded: list[str]
) -> None:
    scripted.ranking = ranking
    scripted.hear({"language": ""})
    (call,) = scripted.calls
    assert call.windows == [0] * len(decoded)
    assert [scripted.language_of(prompt) for prompt in call.prompts] == decoded


@pytest.mark.parametrize(
    ("among", "decoded"),
    [(("de", "it"), ["it", "de"]), (("it", "en"), ["it"]), (("en", "ru"), ["en", "ru"]), ((), ["fr", "it"])],
    ids=["two", "an unlikely one", "none is in the ranking", "of all"],
)
def test_a_window_is_decoded_in_the_languages_that_it_may_have(
    scripted: ScriptedEngine, among: tuple[str, ...], decoded: list[str]
) -> None:
    scripted.ranking = {"fr": 0.8, "it": 0.18, "de": 0.02}
    (transcript,) = scripted.hear({"language": "", "among": among})
    assert sorted(scripted.language_of(prompt) for prompt in scripted.calls[0].prompts) == sorted(decoded)
    assert not among or transcript.language in among


@pytest.mark.parametrize(
    ("logprobs", "language"),
    [({"fr": -0.95, "it": -0.1}, "it"), ({"fr": -0.2, "it": -0.2}, "fr"), ({"fr": -0.5, "it": -0.2}, "fr")],
    ids=["the likelier text", "the likelier language", "both count"],
)
def test_the_language_is_that_of_the_likeliest_transcript(
    scripted: ScriptedEngine, logprobs: dict[str, float], language: str
) -> None:
    scripted.ranking = {"fr": 0.8, "it": 0.1}
    scripted.answer = lambda window, language, temperature: Said(f"in {language}", logprobs[language])
    (transcript,) = scripted.hear({"language": ""})
    assert (transcript.language, _text(transcript)) == (language, f"in {language}")
    assert transcript.avg_logprob == pytest.approx(logprobs[language])


def test_a_doubtful_window_is_decoded_again_only_in_its_language(scripted: ScriptedEngine) -> None:
    scripted.ranking = {"fr": 0.6, "it": 0.4}
    scripted.answer = lambda window, language, temperature: Said("hello", BAD - (language == "it") * (not temperature))
    (transcript,) = scripted.hear({"language": ""})
    assert [[scripted.language_of(prompt) for prompt in call.prompts] for call in scripted.calls] == [
        ["fr", "it"],
        *[["fr"]] * 5,
    ]
    assert transcript.language == "fr"


def _script(scripted: ScriptedEngine, *said: Said) -> None:
    scripted.answer = lambda window, language, temperature: said[window]


def _times(transcript: Any) -> list[tuple[str, Any, Any]]:
    return [(word.text, pytest.approx(word.start), pytest.approx(word.end)) for word in transcript.words]


def test_speech_without_words_is_decoded_again(scripted: ScriptedEngine) -> None:
    _script(
        scripted,
        Said("One. Two", starts=[0.0, 0.5, 4.0, 4.5]),
        Said("and more", starts=[0.25, 1.0, 2.0]),
    )
    (transcript,) = scripted.hear({"seconds": 5.0, "prompt": "Anna", "temperature": 0.3, "language": "de"})
    assert _times(transcript) == [(" One.", 0.0, 0.5), (" and", 0.75, 1.5), (" more", 1.5, 2.5), (" Two", 4.0, 4.5)]
    # What lies between the full stop and the second word, and nothing else.
    audio = noise(5.0).audio[SAMPLE_RATE // 2 : 4 * SAMPLE_RATE]
    assert np.array_equal(scripted.encoded[1], features_of(audio))
    first, again = scripted.calls
    assert (again.prompts, again.temperature) == (first.prompts, first.temperature)
    assert scripted.aligned[1][2] == [3.5]


def test_a_word_that_takes_too_long_is_decoded_again(scripted: ScriptedEngine) -> None:
    _script(
        scripted,
        Said("one two three", starts=[0.0, 0.5, 4.0, 4.5]),
        Said("two and more", starts=[0.0, 0.5, 2.0, 3.0]),
    )
    (transcript,) = scripted.hear({"seconds": 5.0})
    assert _times(transcript) == [
        (" one", 0.0, 0.5),
        (" two", 0.5, 1.0),
        (" and", 1.0, 2.5),
        (" more", 2.5, 3.5),
        (" three", 4.0, 4.5),
    ]


@pytest.mark.parametrize(
    ("starts", "times"),
    [
        ([2.5, 3.0, 3.5], [(" then", 0.0, 1.0), (" one", 2.5, 3.0), (" two", 3.0, 3.5)]),
        ([0.0, 0.5, 1.0], [(" one", 0.0, 0.5), (" two", 0.5, 1.0), (" then", 1.0, 2.0)]),
    ],
    ids=["before the first word", "behind the last"],
)
def test_speech_at_an_end_of_the_window_is_decoded_again(
    scripted: ScriptedEngine, starts: list[float], times: list[tuple[str, float, float]]
) -> None:
    _script(scripted, Said("one two", starts=starts), Said("then", starts=[0.0, 1.0]))
    (transcript,) = scripted.hear({"seconds": 4.0})
    assert _times(transcript) == times


def test_several_stretches_are_decoded_again_as_one(scripted: ScriptedEngine) -> None:
    _script(
        scripted,
        Said("One. two. three", starts=[0.0, 0.5, 3.0, 3.5, 6.0, 6.5]),
        Said("between", starts=[1.0, 2.0]),
    )
    (transcript,) = scripted.hear({"seconds": 7.0})
    assert _times(transcript) == [(" One.", 0.0, 0.5), (" between", 1.5, 2.5), (" three", 6.0, 6.5)]
    assert scripted.aligned[1][2] == [5.5]


@pytest.mark.parametrize(
    "again",
    [Said("more", BAD), Said(LOOP), Said("", GOOD), Said("you", GOOD, QUIET), Said("you", BAD, QUIET)],
    ids=["unsure", "a loop", "nothing", "sure of a word in silence", "silence"],
)
def test_a_second_transcript_that_is_no_better_changes_nothing(scripted: ScriptedEngine, again: Said) -> None:
    _script(scripted, Said("One. two three", starts=[0.0, 0.5, 3.0, 6.0, 6.5]), again)
    (transcript,) = scripted.hear({"seconds": 7.0})
    assert [word.text for word in transcript.words] == [" One.", " two", " three"]
    assert len(scripted.encoded) == 2


def test_a_stretch_is_not_decoded_a_third_time(scripted: ScriptedEngine) -> None:
    gap = Said("One. Two", starts=[0.0, 0.5, 4.0, 4.5])
    _script(scripted, gap, gap)
    scripted.hear({"seconds": 5.0})
    assert len(scripted.encoded) == 2


def test_other_windows_keep_their_words_when_one_is_decoded_again(scripted: ScriptedEngine) -> None:
    _script(
        scripted,
        Said("hello"),
        Said("One. Two", starts=[0.0, 0.5, 4.0, 4.5]),
        Said("hello"),
        Said("again", starts=[0.0, 1.0]),
    )
    transcripts = scripted.hear({}, {"seconds": 5.0}, {})
    assert [_text(transcript) for transcript in transcripts] == ["hello", "One. again Two", "hello"]


def test_speech_without_words_may_be_in_another_language(scripted: ScriptedEngine) -> None:
    _script(scripted, Said("Uno. due", starts=[0.0, 0.5, 4.0, 4.5]), Said("and", starts=[0.0, 1.0]))
    (transcript,) = scripted.hear({"seconds": 5.0, "language": ""})
    assert transcript.language == "fr"
    assert scripted.asked_for_languages == [[0], [1]]
    assert _text(transcript) == "Uno. and due"


def test_speech_without_words_is_decoded_again_in_the_language_that_the_caller_says(scripted: ScriptedEngine) -> None:
    _script(scripted, Said("Uno. due", starts=[0.0, 0.5, 4.0, 4.5]), Said("e", starts=[0.0, 1.0]))
    scripted.hear({"seconds": 5.0, "language": "it"})
    assert scripted.asked_for_languages == []
    assert scripted.language_of(scripted.calls[1].prompts[0]) == "it"


_FRENCH, _ENGLISH = {"fr": 0.9, "en": 0.05}, {"fr": 0.05, "en": 0.9}


def _bilingual(scripted: ScriptedEngine, *parts: Mapping[str, float]) -> None:
    """A translated window, in which no gap is decoded again, and the languages of its parts of three seconds."""
    scripted.ranking, scripted.rankings_of_parts = {"fr": 0.7, "en": 0.3}, list(parts)
    scripted.answer = lambda window, language, temperature: Said(f"in {language}", GOOD, LOUD, [0.0, 0.5, 1.0])


def test_a_window_is_cut_where_its_language_changes(scripted: ScriptedEngine) -> None:
    _bilingual(scripted, _FRENCH, _FRENCH, _ENGLISH)
    scripted.hear({"seconds": 6.0, "language": "", "translate": True})
    ((_, _, (first, second)),) = scripted.aligned
    assert 3.0 < first < 4.5
    assert first + second == 6.0


def test_the_words_of_both_languages_have_the_times_of_the_whole_window(scripted: ScriptedEngine) -> None:
    _bilingual(scripted, _FRENCH, _FRENCH, _ENGLISH)
    (transcript,) = scripted.hear({"seconds": 6.0, "language": "", "translate": True})
    assert [word.text for word in transcript.words] == [" in", " fr", " in", " fr"]
    assert transcript.words[2].start > 3.0


@pytest.mark.parametrize(
    "parts",
    [
        [_FRENCH] * 3,
        [_FRENCH, {"fr": 0.3, "en": 0.4}, _FRENCH],
        [{"fr": 0.5, "en": 0.2}, {"fr": 0.2, "en": 0.3}, _FRENCH],
    ],
    ids=["one language", "a doubtful part", "a doubtful beginning"],
)
def test_a_window_of_one_language_is_not_cut(scripted: ScriptedEngine, parts: list[Mapping[str, float]]) -> None:
    _bilingual(scripted, *parts)
    scripted.hear({"seconds": 6.0, "language": "", "translate": True})
    assert len(scripted.encoded) == 1


def test_people_who_speak_two_languages_one_after_another_are_both_heard(recognizer: Any, module: ModuleType) -> None:
    french, english = recordings("fr")[0], recordings("en")[0]
    audio = np.concatenate([french.samples(), np.zeros(SAMPLE_RATE // 3, np.float32), english.samples()])
    (transcript,) = recognizer.transcribe([module.Window(audio[: 30 * SAMPLE_RATE])])
    heard = _text(transcript).lower()
    assert [word for word in _PLAIN.findall(english.text.lower())[:6] if word not in heard] == []
    assert len([word for word in _PLAIN.findall(french.text.lower()) if word in heard]) >= 4


@pytest.mark.parametrize(
    ("wrong", "named"),
    [({"seconds": 0}, "not 0"), ({"seconds": 30 + 1 / SAMPLE_RATE}, "not 480001"), ({"language": "xx"}, r"<\|xx\|>")],
    ids=["empty", "too long", "an unknown language"],
)
def test_an_invalid_window_is_rejected_before_any_is_encoded(
    module: ModuleType, scripted: ScriptedEngine, wrong: dict[str, Any], named: str
) -> None:
    with pytest.raises(module.InvalidWindowError, match=named):
        scripted.hear({}, wrong)
    assert scripted.encoded == []


def test_an_export_for_processors_is_refused_on_a_gpu(module: ModuleType, exported: Path) -> None:
    with pytest.raises(ValueError, match="--precision fp16"):
        module.Recognizer(exported, device="cuda")


def test_an_export_whose_graphs_are_missing_cannot_be_loaded(
    module: ModuleType, exported: Path, tmp_path: Path
) -> None:
    for name in ("quartet.json", "tokenizer.json"):
        shutil.copy(exported / name, tmp_path)
    with pytest.raises(RuntimeError, match=r"encoder\.xml"):
        module.Recognizer(tmp_path)


def _words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


def _recorded(language: str, name: str) -> Recorded:
    (found,) = [each for each in recordings(language) if each.name == name]
    return found


@pytest.mark.parametrize(
    ("language", "name", "prompt", "word"),
    [
        ("en", "vm-newuser", "ComedianMail", "ComedianMail"),
        ("fr", "vm-mailboxfull", "La boîte vocale.", "vocale"),
    ],
)
def test_a_prompt_says_how_a_word_is_written(
    module: ModuleType, recognizer: Any, language: str, name: str, prompt: str, word: str
) -> None:
    audio = _recorded(language, name).samples()
    windows = [module.Window(audio, language=language, prompt=text) for text in ("", prompt)]
    without, with_prompt = (_text(transcript) for transcript in recognizer.transcribe(windows))
    assert word not in without
    assert word in with_prompt


def test_a_person_is_transcribed_and_translated_in_one_batch(module: ModuleType, recognizer: Any) -> None:
    recorded = recordings("it")[0]
    windows = [module.Window(recorded.samples(), translate=translate) for translate in (False, True)]
    spoken, english = recognizer.transcribe(windows)
    assert _words(_text(spoken)) == _words(recorded.text)
    assert {"sorry", "person"} <= {*_words(_text(english)).split()}


@pytest.mark.parametrize(("silence", "second"), [(4, ["vm-nobox"]), (3, [])], ids=["between sentences", "at the end"])
def test_silence_costs_no_word_and_adds_none(
    module: ModuleType, recognizer: Any, silence: int, second: list[str]
) -> None:
    people = [_recorded("en", name) for name in ("ss-noservice", *second)]
    parts = [people[0].samples(), np.zeros(silence * SAMPLE_RATE, np.float32), *(each.samples() for each in people[1:])]
    (transcript,) = recognizer.transcribe([module.Window(np.concatenate(parts), language="en")])
    assert _words(_text(transcript)) == _words(" ".join(each.text for each in people))


def test_a_model_without_graphs_runs_by_ctranslate2(
    module: ModuleType, converted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # ``test_loading.py`` has the first run.
    monkeypatch.setattr(recognizer_module("loading"), "run_once", lambda *_: None)
    recorded = _recorded("en", "ss-noservice")
    (transcript,) = module.Recognizer(converted).transcribe([module.Window(recorded.samples(), language="en")])
    assert _words(_text(transcript)) == _words(recorded.text)
    assert transcript.words[-1].end > 4.0


def test_the_recognizer_returns_the_encoder_output(module: ModuleType, recognizer: Any, engine: Any) -> None:
    audio = noise().audio
    (encoded,) = engine.encode(features_of(audio))
    assert np.array_equal(recognizer.encoder_output(module.Window(audio)), encoded.output[0])
    assert encoded.output.shape == (1, 1500, 512)


@pytest.mark.parametrize(
    "error", [RuntimeError("CUDA failed with error an illegal memory access was encountered"), MemoryError()]
)
def test_an_engine_whose_device_fails_does_not_work_and_others_do(
    scripted: ScriptedEngine, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    assert scripted.recognizer.works()

    def fail(_: Any) -> None:
        raise error

    monkeypatch.setattr(scripted, "encode", fail)
    assert not scripted.recognizer.works()
