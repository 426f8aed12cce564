"""How the recognizer decodes, told by a decoder that answers what a test wants and notes what it is asked."""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer

from scripts.export_models.whisper.served import recognizer_module

GOOD, BAD = -0.2, -1.5
LOUD, QUIET = 0.1, 0.9
FALLBACKS = [0.2, 0.4, 0.6, 0.8, 1.0]


@dataclass
class Call:
    """A call of ``generate``: how many windows it had, of so many encoded frames, and what else it was given."""

    windows: int
    frames: int
    prompts: list[list[int]]
    settings: dict[str, Any]

    @property
    def temperature(self) -> float:
        """Of sampling; 0 is a search."""
        return float(self.settings["sampling_temperature"]) if self.settings["beam_size"] == 1 else 0.0


@dataclass
class ScriptedDecoder:
    """Stands in for CTranslate2's model: ``answer`` gives the text, score and silence of a temperature.

    As CTranslate2 does it, the best of several samples comes first.
    """

    tokenizer: Tokenizer
    hear: Callable[[list[Any]], list[Any]]
    answer: Callable[[float], tuple[str, float, float]] = lambda temperature: ("hello", GOOD, LOUD)
    calls: list[Call] = field(default_factory=list)
    aligned: list[tuple[list[int], list[list[int]], list[int]]] = field(default_factory=list)
    asked_for_languages: list[int] = field(default_factory=list)

    def generate(self, encoded: Any, prompts: list[list[int]], **settings: Any) -> list[SimpleNamespace]:
        call = Call(encoded.shape[0], encoded.shape[1], prompts, settings)
        self.calls.append(call)
        text, score, silence = self.answer(call.temperature)
        start, end = self.ids("<|0.00|>"), self.ids("<|1.00|>")
        samples = [[*start, *self.ids(f" {words}"), *end] for words in (text, "another sample")]
        result = SimpleNamespace(sequences_ids=samples, scores=[score, score - 1], no_speech_prob=silence)
        return [result for _ in prompts]

    def align(self, encoded: Any, start: list[int], tokens: list[list[int]], frames: list[int]) -> list[Any]:
        """Of each window (token, frame) pairs, and how probable its tokens are."""
        self.aligned.append((start, tokens, frames))
        places = ([(i, 10 * i) for i in range(len(ids) + 1)] for ids in tokens)
        return [SimpleNamespace(alignments=each, text_token_probs=[0.5] * (len(each) - 1)) for each in places]

    def detect_language(self, encoded: Any) -> list[list[tuple[str, float]]]:
        self.asked_for_languages.append(encoded.shape[0])
        return [[("<|fr|>", 0.75), ("<|it|>", 0.25)]] * int(encoded.shape[0])

    def ids(self, text: str) -> list[int]:
        return list(self.tokenizer.encode(text, add_special_tokens=False).ids)

    @property
    def temperatures(self) -> list[float]:
        return [call.temperature for call in self.calls]

    def transcribe(self, *windows: dict[str, Any]) -> list[Any]:
        """What comes of windows of a second of noise, or of other ``seconds``, in English."""
        return self.hear([_window(**window) for window in windows])

    def one(self, **window: Any) -> Any:
        (transcript,) = self.transcribe(window)
        return transcript


def _window(seconds: float = 1.0, language: str = "en", **values: Any) -> Any:
    audio = np.random.default_rng(0).normal(0, 0.1, int(16_000 * seconds)).astype(np.float32)
    return recognizer_module().Window(audio, language=language, **values)


@pytest.fixture
def decoder(prompted: Any, converted: Path, monkeypatch: pytest.MonkeyPatch) -> ScriptedDecoder:
    decoder = ScriptedDecoder(Tokenizer.from_file(str(converted / "tokenizer.json")), prompted.transcribe)
    # The encoder is still the real one.
    scripted = copy.copy(prompted._ctranslate)
    scripted._model = decoder
    monkeypatch.setattr(prompted, "_ctranslate", scripted)
    return decoder


def _text(transcript: Any) -> str:
    return "".join(segment.text for segment in transcript.segments).strip()


@pytest.mark.parametrize(
    ("answer", "tried", "text"),
    [
        (lambda t: ("hello", GOOD, LOUD), [0.0], "hello"),
        (lambda t: (f"number {t}", GOOD if t == 0.4 else BAD, LOUD), [0.0, 0.2, 0.4], "number 0.4"),
        (lambda t: ("hello" if t else "and then " * 20, GOOD, LOUD), [0.0, 0.2], "hello"),
        (lambda t: ("last" if t == 1.0 else "before", BAD, LOUD), [0.0, *FALLBACKS], "last"),
        (lambda t: ("hello", GOOD, QUIET), [0.0], "hello"),
    ],
    ids=["sure", "unsure", "repeats itself", "stays unsure", "sure, though the model takes it for silence"],
)
def test_a_window_is_decoded_until_it_is_sure(
    decoder: ScriptedDecoder, answer: Any, tried: list[float], text: str
) -> None:
    decoder.answer = answer
    assert _text(decoder.one()) == text
    assert decoder.temperatures == tried


def test_the_best_of_five_samples_is_taken(decoder: ScriptedDecoder) -> None:
    decoder.one(temperature=0.3)
    settings = decoder.calls[0].settings
    assert (settings["beam_size"], settings["num_hypotheses"], settings["sampling_topk"]) == (1, 5, 0)
    assert settings["sampling_temperature"] == pytest.approx(0.3)


def test_a_search_has_the_beam_of_the_checkpoint_and_begins_early(decoder: ScriptedDecoder) -> None:
    decoder.one()
    settings = decoder.calls[0].settings
    assert settings["beam_size"] == 5
    assert "num_hypotheses" not in settings
    # The first timestamp lies in the first second.
    assert settings["max_initial_timestamp_index"] == 50


@pytest.mark.parametrize("temperature", [0.001, 0.2, 1.0])
def test_who_gave_a_temperature_has_what_it_gives(decoder: ScriptedDecoder, temperature: float) -> None:
    decoder.answer = lambda temperature: ("as asked", BAD, LOUD)
    assert _text(decoder.one(temperature=temperature)) == "as asked"
    assert decoder.temperatures == [pytest.approx(temperature)]


def test_the_doubtful_alone_are_decoded_again(decoder: ScriptedDecoder) -> None:
    decoder.answer = lambda temperature: (f"{temperature}", GOOD if temperature else BAD, LOUD)
    asked_for, doubtful = decoder.transcribe({"temperature": 0.7}, {})
    assert decoder.temperatures == pytest.approx([0.7, 0.0, 0.2])
    assert [call.windows for call in decoder.calls] == [1, 1, 1]
    assert asked_for.avg_logprob == doubtful.avg_logprob


def test_a_window_without_speech_has_no_text_and_is_not_tried_again(decoder: ScriptedDecoder) -> None:
    decoder.answer = lambda temperature: ("thank you for watching", BAD, QUIET)
    result = decoder.one()
    assert decoder.temperatures == [0.0]
    assert (result.segments, result.language, result.no_speech_prob) == ([], "en", QUIET)


def test_the_log_probability_is_that_of_the_tokens_and_the_end(decoder: ScriptedDecoder) -> None:
    result = decoder.one()
    assert result.avg_logprob == pytest.approx(GOOD * len(result.tokens) / (len(result.tokens) + 1))


def test_a_prompt_stands_before_the_task(decoder: ScriptedDecoder) -> None:
    decoder.one(prompt=" Anna and Marco ")
    whole = "<|startofprev|> Anna and Marco<|startoftranscript|><|en|><|transcribe|>"
    assert decoder.calls[0].prompts == [decoder.ids(whole)]


def test_of_a_long_prompt_the_end_is_kept(decoder: ScriptedDecoder) -> None:
    prompt = " ".join(f"word{number}" for number in range(200))
    decoder.one(prompt=prompt)
    (given,) = decoder.calls[0].prompts
    # Half of the demo's context of 224, less the token that begins it.
    assert given[1:-3] == decoder.ids(f" {prompt}")[-111:]


def test_prompts_of_one_length_and_language_of_each_are_decoded_together(decoder: ScriptedDecoder) -> None:
    decoder.transcribe({}, {"language": "de"}, {"prompt": "Anna"}, {"seconds": 3.0})
    assert [call.windows for call in decoder.calls] == [2, 1, 1]


@pytest.mark.parametrize(
    ("seconds", "prompt", "most"), [(1.0, 3, 49), (2.5, 3, 86), (8.0, 3, 112), (8.0, 115, 109), (1.0, 200, 24)]
)
def test_a_loop_ends_with_the_window_or_the_context(prompted: Any, seconds: float, prompt: int, most: int) -> None:
    assert prompted.most_tokens(seconds, prompt) == most


@pytest.mark.parametrize(("prompt", "longest"), [("", 2 * 49), ("word " * 300, 115 + 49)])
def test_the_decoder_may_give_as_many_tokens_as_that(decoder: ScriptedDecoder, prompt: str, longest: int) -> None:
    decoder.one(prompt=prompt)
    assert decoder.calls[0].settings["max_length"] == longest


@pytest.mark.parametrize(
    ("seconds", "padded"), [(0.1, 2.0), (1.7, 2.0), (1.71, 2.5), (2.2, 2.5), (2.21, 3.0), (7.9, 8.0), (8.0, 8.0)]
)
def test_a_window_is_padded_to_half_seconds_with_a_silent_end(
    decoder: ScriptedDecoder, seconds: float, padded: float
) -> None:
    decoder.one(seconds=seconds)
    assert decoder.calls[0].frames == padded * 50


def test_words_are_aligned_behind_the_task_of_their_language(decoder: ScriptedDecoder) -> None:
    results = decoder.transcribe({"word_timestamps": True}, {"language": "de", "word_timestamps": True}, {})
    tasks = [decoder.ids(f"<|startoftranscript|><|{code}|><|transcribe|>") for code in ("en", "de")]
    assert [start for start, _, _ in decoder.aligned] == tasks
    assert [tokens for _, tokens, _ in decoder.aligned] == [[decoder.ids(" hello")]] * 2
    assert [len(result.words) for result in results] == [1, 1, 0]


@pytest.mark.parametrize(("seconds", "frames"), [(1.0, 102), (8.0, 800)])
def test_words_are_looked_for_where_the_window_has_sound(decoder: ScriptedDecoder, seconds: float, frames: int) -> None:
    """In frames of a hundredth of a second, as CTranslate2 counts them."""
    decoder.one(seconds=seconds, word_timestamps=True)
    assert decoder.aligned[0][2] == [frames]


def test_a_window_without_text_has_no_words(decoder: ScriptedDecoder) -> None:
    decoder.answer = lambda temperature: ("thank you for watching", BAD, QUIET)
    assert decoder.one(word_timestamps=True).words == []


def test_languages_that_nobody_gave_are_detected_together(decoder: ScriptedDecoder) -> None:
    results = decoder.transcribe({"language": ""}, {}, {"language": ""})
    assert [result.language for result in results] == ["fr", "en", "fr"]
    assert decoder.asked_for_languages == [2]
