"""OpenVINO's engine on recordings of people, beside CTranslate2's in float32 on the same output of the encoder."""

from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from client.recordings import Recorded, recordings
from scripts.export_models.triton_code import recognizer_module
from tests.unit.whisper.engines import SAMPLE_RATE, ctranslate_engine, features_of, openvino_engine

MOST = 200
# Of each window here, and of a whole one.
SECONDS, FRAMES, WHOLE = 12, 600, 1500


@dataclass(frozen=True)
class Spoken:
    """Windows with what is asked of them."""

    encoded: list[Any]
    prompts: list[list[int]]
    seconds: list[float]

    def decoded_by(self, engine: Any, temperature: float = 0.0, most: int = MOST) -> list[Any]:
        return list(engine.decode(self.encoded, self.prompts, most, temperature, [None] * len(self.prompts)))

    def only(self, place: int, count: int = 1) -> "Spoken":
        some = slice(place, place + count)
        return Spoken(self.encoded[some], self.prompts[some], self.seconds[some])


@pytest.fixture(scope="module")
def recorded() -> list[Recorded]:
    """One of each language but French, in which base is undecided between two spellings, and one more."""
    return [*recordings("en", "es", most=1), recordings("ru")[1], recordings("it")[1], recordings("en")[5]]


@pytest.fixture(scope="module")
def people(engine: Any, tokens: Any, recorded: list[Recorded]) -> Spoken:
    encoded = [window for each in recorded for window in engine.encode(features_of(each.samples(), SECONDS))]
    return Spoken(encoded, [tokens.task(each.language) for each in recorded], [each.seconds for each in recorded])


@pytest.fixture(scope="module")
def ours(engine: Any, people: Spoken) -> list[Any]:
    return people.decoded_by(engine)


@pytest.fixture(scope="module")
def theirs(ctranslate: Any, people: Spoken) -> list[Any]:
    return people.decoded_by(ctranslate)


@pytest.fixture(scope="module")
def uneven(engine: Any, tokens: Any, recorded: list[Recorded]) -> Spoken:
    """Three windows of a second, and two recordings in one."""
    first, other = recorded[0].samples(), recorded[4].samples()
    audio = [first[: 1 * SAMPLE_RATE], other[: 1 * SAMPLE_RATE], np.concatenate([first, other]), first[:SAMPLE_RATE]]
    encoded = [window for each in audio for window in engine.encode(features_of(each, SECONDS))]
    return Spoken(encoded, [tokens.task("en")] * 4, [len(each) / SAMPLE_RATE for each in audio])


@pytest.fixture
def left_out(engine: Any, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many windows went on each time that others were left out."""
    counts: list[int] = []
    keep = engine._decoder.keep

    def noted(windows: list[int]) -> None:
        counts.append(len(windows))
        keep(windows)

    monkeypatch.setattr(engine._decoder, "keep", noted)
    return counts


def _averages(decoded: list[Any]) -> list[float]:
    return [text.avg_logprob for text in decoded]


def _assert_alike(found: list[Any], wanted: list[Any]) -> None:
    """The same but for words that are as likely: a processor rounds a row otherwise where others are beside it."""
    for text, other in zip(found, wanted, strict=True):
        assert SequenceMatcher(None, text.tokens, other.tokens, autojunk=False).ratio() > 0.8
    assert _averages(found) == pytest.approx(_averages(wanted), abs=0.03)


def test_a_window_is_encoded_with_keys_and_values(people: Spoken) -> None:
    encoded = people.encoded[0]
    assert encoded.output.shape == (1, FRAMES, 512)
    shapes = {name: array.shape for name, array in encoded.attended.items()}
    assert shapes == {f"{part}.{layer}": (1, 8, FRAMES, 64) for layer in range(6) for part in ("keys", "values")}


def test_transcripts_are_those_of_ctranslate2(ours: list[Any], theirs: list[Any]) -> None:
    assert [text.tokens for text in ours] == [text.tokens for text in theirs]


@pytest.mark.parametrize("probability", ["avg_logprob", "no_speech_prob"])
def test_probabilities_are_those_of_ctranslate2(ours: list[Any], theirs: list[Any], probability: str) -> None:
    found, wanted = ([getattr(text, probability) for text in each] for each in (ours, theirs))
    assert found == pytest.approx(wanted, abs=0.03 if probability == "avg_logprob" else 0.01)


def test_the_probabilities_of_the_tokens_and_of_the_end_make_that_of_the_text(ours: list[Any]) -> None:
    for text in ours:
        assert len(text.probabilities) == len(text.tokens)
        # The end, which is all that is not among them, is likely but not certain.
        assert -1.0 < text.logprob - sum(np.log(text.probabilities)) < 0.0


def test_language_probabilities_are_those_of_ctranslate2(engine: Any, ctranslate: Any, people: Spoken) -> None:
    found, wanted = (each.languages(people.encoded) for each in (engine, ctranslate))
    for ours, theirs in zip(found, wanted, strict=True):
        assert ours == pytest.approx(theirs, abs=0.05)


def test_languages_are_ranked_by_their_probability(engine: Any, people: Spoken) -> None:
    (ranking,) = engine.languages(people.encoded[:1])
    assert list(ranking.values()) == sorted(ranking.values(), reverse=True)
    assert sum(ranking.values()) == pytest.approx(1.0, abs=1e-3)


def test_words_are_placed_where_ctranslate2_places_them(
    engine: Any, ctranslate: Any, people: Spoken, ours: list[Any], recorded: list[Recorded], tokens: Any
) -> None:
    for place, each in enumerate(recorded):
        given = people.encoded[place : place + 1], tokens.task(each.language), ours[place : place + 1], [each.seconds]
        (found,), (wanted,) = engine.align(*given), ctranslate.align(*given)
        assert len(found.starts) == len(ours[place].tokens) + 1
        # Five frames: how a processor rounds moves a word by up to three.
        assert found.starts == pytest.approx(wanted.starts, abs=0.1)


def test_a_window_has_the_same_transcript_alone_and_in_a_batch(engine: Any, people: Spoken, ours: list[Any]) -> None:
    alone = [people.only(place).decoded_by(engine)[0] for place in range(len(ours))]
    assert [text.tokens for text in alone] == [text.tokens for text in ours]
    assert _averages(alone) == pytest.approx(_averages(ours), abs=0.01)


def test_windows_of_very_different_lengths_have_the_same_transcripts_as_alone(
    engine: Any, uneven: Spoken, left_out: list[int]
) -> None:
    together = uneven.decoded_by(engine)
    assert left_out
    _assert_alike(together, [uneven.only(place).decoded_by(engine)[0] for place in range(4)])


def test_the_next_batch_is_not_disturbed_by_removed_windows(
    engine: Any, uneven: Spoken, people: Spoken, ours: list[Any], left_out: list[int]
) -> None:
    uneven.decoded_by(engine)
    assert left_out == [1]
    again = people.decoded_by(engine)
    assert np.isfinite(_averages(again)).all()
    assert [text.tokens for text in again] == [text.tokens for text in ours]


@pytest.fixture(scope="module")
def beam(exported: Path) -> Any:
    """Five wide."""
    return openvino_engine(exported, 5)


def test_a_beam_gives_the_transcripts_of_ctranslate2(beam: Any, people: Spoken, converted: Path) -> None:
    some = people.only(0, 2)
    found, wanted = (some.decoded_by(each) for each in (beam, ctranslate_engine(converted, 5)))
    _assert_alike(found, wanted)


def test_a_beam_transcribes_windows_of_very_different_lengths_as_alone(beam: Any, uneven: Spoken) -> None:
    _assert_alike(uneven.decoded_by(beam), [uneven.only(place).decoded_by(beam)[0] for place in range(4)])


def test_a_beam_has_the_queries_of_the_sentence_that_it_chose(
    beam: Any, engine: Any, people: Spoken, tokens: Any, recorded: list[Recorded]
) -> None:
    """The words are where they are by a greedy search that heard the same."""
    (greedy,), (chosen,) = (people.only(0).decoded_by(each) for each in (engine, beam))
    assert greedy.tokens == chosen.tokens
    given = people.encoded[:1], tokens.task(recorded[0].language)
    (wanted,), (found,) = (engine.align(*given, [text], people.seconds[:1]) for text in (greedy, chosen))
    assert found.starts == pytest.approx(wanted.starts, abs=0.05)


def test_a_beam_wider_than_the_decoders_candidates_is_refused(small_exported: Path) -> None:
    with pytest.raises(ValueError, match="less than 10 wide, not 10"):
        openvino_engine(small_exported, 10)


@pytest.fixture(scope="module")
def prompted(people: Spoken, tokens: Any) -> Spoken:
    prompts = [[*tokens.earlier("At the desk of Anna.", 224), *tokens.task("en")]]
    return Spoken(people.encoded[:1], prompts, people.seconds[:1])


def test_words_are_placed_with_a_prompt_as_without_one(
    engine: Any, people: Spoken, prompted: Spoken, ours: list[Any], tokens: Any
) -> None:
    (decoded,) = prompted.decoded_by(engine)
    assert decoded.tokens == ours[0].tokens
    given = people.encoded[:1], tokens.task("en")
    (found,), (wanted,) = (engine.align(*given, [text], people.seconds[:1]) for text in (decoded, ours[0]))
    assert found.starts == pytest.approx(wanted.starts, abs=0.1)


def test_a_prompt_gives_the_result_of_ctranslate2(engine: Any, ctranslate: Any, prompted: Spoken) -> None:
    (found,), (wanted,) = (prompted.decoded_by(each) for each in (engine, ctranslate))
    assert found.tokens == wanted.tokens
    assert found.avg_logprob == pytest.approx(wanted.avg_logprob, abs=0.03)
    assert found.no_speech_prob == pytest.approx(wanted.no_speech_prob, abs=0.01)


@pytest.mark.parametrize("temperature", [0.0, 0.5])
def test_decoding_ends_after_the_most_tokens(engine: Any, people: Spoken, temperature: float) -> None:
    decoded = people.decoded_by(engine, temperature, most=4)
    assert [len(text.tokens) for text in decoded] == [4] * 5


def test_the_last_word_of_a_text_at_its_limit_ends_with_the_window(engine: Any, people: Spoken, tokens: Any) -> None:
    (decoded,) = people.only(0).decoded_by(engine, most=4)
    (aligned,) = engine.align(people.encoded[:1], tokens.task("en"), [decoded], [4.0])
    assert len(aligned.starts) == 5
    assert aligned.starts[-1] == pytest.approx(4.0)
    assert aligned.starts[-2] < 4.0


def test_words_are_placed_within_the_sound(engine: Any, people: Spoken, tokens: Any, ours: list[Any]) -> None:
    (aligned,) = engine.align(people.encoded[:1], tokens.task("en"), ours[:1], [2.0])
    assert max(aligned.starts) < 2.0


def test_an_empty_text_has_no_words(engine: Any, people: Spoken, tokens: Any) -> None:
    (decoded,) = people.only(0).decoded_by(engine, most=1)
    nothing = type(decoded)([], decoded.logprob, 0.0, [], decoded.queries[:, :4])
    (aligned,) = engine.align(people.encoded[:1], tokens.task("en"), [nothing], [4.0])
    assert (aligned.starts.tolist(), aligned.probabilities) == ([0.0], [])


def test_samples_at_a_low_temperature_are_nearly_the_search(engine: Any, people: Spoken, ours: list[Any]) -> None:
    """The best of five at a low temperature is what a search finds, or nearly."""
    sampled = people.decoded_by(engine, 0.2)
    assert sum(text.tokens == greedy.tokens for text, greedy in zip(sampled, ours, strict=True)) >= 4


def test_samples_are_text_tokens(engine: Any, people: Spoken, tokens: Any) -> None:
    """At this temperature every token is about as likely."""
    said = {token for text in people.only(0, 3).decoded_by(engine, 50.0, most=40) for token in text.tokens}
    assert len(said) > 100
    assert max(said) < tokens.end
    assert said.isdisjoint(tokens.suppressed)


@pytest.mark.parametrize("token", ["end", "blank"])
def test_a_text_does_not_begin_with_a_suppressed_first_token(engine: Any, tokens: Any, token: str) -> None:
    index = {"end": tokens.end, "blank": tokens._tokenizer.token_to_id("Ġ")}[token]
    assert (engine._first[index], engine._later[index]) == (-np.inf, 0)


def test_windows_decoded_together_fit_in_half_a_gigabyte(engine: Any, people: Spoken) -> None:
    window = sum(array.nbytes for array in people.encoded[0].attended.values()) * WHOLE // FRAMES
    assert engine.decodes_together == 512_000_000 // window > 8


def test_at_least_one_window_is_decoded(small_exported: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recognizer_module("openvino_engine"), "_MOST_BYTES", 1)
    assert openvino_engine(small_exported).decodes_together == 1
