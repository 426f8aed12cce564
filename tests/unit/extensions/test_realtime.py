"""Live speech: which words are final, where turns begin and end, and what a client's event means."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from client.recordings import recordings
from frontend.audio.detector import FRAME, Detector, speech_probabilities
from frontend.catalogue.models import Served
from frontend.errors import InvalidRequest
from frontend.extensions.realtime.agreement import Agreement, TimedWord, is_rushed, repeats_itself
from frontend.extensions.realtime.items import Item
from frontend.extensions.realtime.protocol import Append, Clear, Commit, Detection, SessionConfig, Update, parse, read
from frontend.extensions.realtime.stretches import History
from frontend.extensions.realtime.turns import StreamDetector, Turns
from tests.speech import say

CONFIG = SessionConfig("stt-1")
SERVED = Served.of()
WINDOW = 30.0
INPUT = "session.audio.input"
RATE_11 = {"type": "audio/pcm", "rate": 11_025}


def timed(text: str) -> list[TimedWord]:
    """Words of half a second."""
    return [TimedWord(f" {word}", number / 2, number / 2 + 0.5) for number, word in enumerate(text.split())]


def sent(*passes: str) -> list[str]:
    """What is sent after each pass, the last of which is the final one."""
    agreement = Agreement()
    deltas = [agreement.add(timed(text)) for text in passes[:-1]]
    return [*deltas, agreement.finish(timed(passes[-1]))]


def test_words_are_sent_when_a_second_pass_hears_them_too() -> None:
    assert sent("one", "one two", "one two three", "one two three") == ["", "one", " two", " three"]


def test_words_before_a_pause_are_sent_at_once() -> None:
    agreement = Agreement()
    assert agreement.add(timed("one two"), complete=True) == "one two"


def test_case_and_punctuation_make_no_other_word() -> None:
    assert sent("We went.", "we went to", "We went to town.") == ["", "we went", " to town."]


def test_the_end_of_what_is_heard_so_far_is_no_end_of_a_sentence() -> None:
    assert sent("We went.", "We went.", "We went, too.", "We went, too.") == ["", "We went", "", ", too."]


def test_words_on_which_passes_differ_wait() -> None:
    assert sent("recognise", "wreck a nice", "wreck a nice beach") == ["", "", "wreck a nice beach"]


def test_words_that_differ_in_a_vowel_sign_are_different_words() -> None:
    assert sent("घर का", "घर की बात", "घर की बात")[:2] == ["", "घर"]


@pytest.mark.parametrize("mark", [".", "。", "।", "؟"])
def test_a_mark_at_the_end_of_what_is_heard_so_far_is_left_off(mark: str) -> None:
    assert sent(f"one two{mark}", f"one two{mark}", "one two three")[1] == "one two"


def test_a_final_pass_that_splits_a_sent_word_repeats_and_loses_nothing() -> None:
    assert sent("goodbye now", "goodbye now my", "good bye now my friend")[-1] == " my friend"


def test_a_final_pass_that_hears_sent_words_differently_goes_on_by_time() -> None:
    assert sent("a b", "a b", "x y c d")[-1] == " c d"


def test_words_faster_than_speech_are_no_speech() -> None:
    assert not is_rushed(timed("dial five to allow this"))
    assert is_rushed([*timed("dial five to"), *(TimedWord(" to", 1.5 + 0.02 * n, 1.52 + 0.02 * n) for n in range(4))])


def test_words_said_twice_in_a_row_are_a_loop_of_the_model() -> None:
    assert repeats_itself(timed("Press 1. Press 1"))
    assert not repeats_itself(timed("Dial 1 if you wish, dial 2 if you do not. No, no"))


@given(st.lists(st.lists(st.sampled_from(["a", "b", "c."]), max_size=8).map(" ".join), min_size=1, max_size=6))
def test_until_the_last_pass_the_text_is_what_was_sent(passes: list[str]) -> None:
    agreement = Agreement()
    deltas = [agreement.add(timed(text)) for text in passes]
    assert agreement.text == "".join(deltas)


def test_the_last_pass_corrects_what_was_sent() -> None:
    agreement = Agreement()
    for text in ("the party or", "the party or trying", "the party you're trying to reach"):
        agreement.add(timed(text))
    agreement.finish(timed("the party you're trying to reach"))
    assert agreement.text == "the party you're trying to reach"


def test_a_turn_begins_with_speech_and_ends_after_silence() -> None:
    turns = Turns(threshold=0.5, silence_ms=96)
    told = [turns.next(probability) for probability in (0.9, 0.1, 0.9, 0.9, 0.4, 0.1, 0.9, 0.1, 0.1, 0.1, 0.1)]
    assert [(place, turn) for place, turn in enumerate(told) if turn] == [(3, "started"), (9, "stopped")]


def test_audio_in_pieces_is_heard_as_in_one() -> None:
    data = (say("Good morning.") * 32767).astype(np.int16).tobytes()
    whole = StreamDetector("audio/pcm").detect(data, last=True)
    detector = StreamDetector("audio/pcm")
    # Pieces of an odd number of bytes cut samples in two.
    pieces = [detector.detect(data[place : place + 1001]) for place in range(0, len(data), 1001)]
    pieces.append(detector.detect(b"", last=True))
    assert np.concatenate([piece.samples for piece in pieces]).tobytes() == whole.samples.tobytes()
    assert sum(piece.count for piece in pieces) == whole.count == -(-len(data) // 2 * 16 // 24)
    assert np.allclose(np.concatenate([piece.probabilities for piece in pieces]), whole.probabilities, atol=1e-3)


@pytest.mark.parametrize("language", ["en", "it", "ru"])
def test_quiet_speech_is_heard_live_from_its_first_word(language: str) -> None:
    audio = recordings(language)[0].samples()
    found = []
    for decibels in (-6, -46):
        scaled = audio / np.abs(audio).max() * 32767 * 10 ** (decibels / 20)
        data = (np.repeat(scaled, 3)[::2]).astype(np.int16).tobytes()
        detector = StreamDetector("audio/pcm")
        parts = [detector.detect(data[place : place + 4800]).probabilities for place in range(0, len(data), 4800)]
        found.append(np.flatnonzero(np.concatenate(parts) > 0.5))
    assert abs(found[0][0] - found[1][0]) <= 6
    assert abs(found[0][-1] - found[1][-1]) <= 8


def test_a_detector_goes_on_where_it_stopped() -> None:
    audio = (say("Good morning.") * 32767).astype(np.int16)
    frames = audio[: len(audio) // FRAME * FRAME].reshape(-1, FRAME)
    detector = Detector()
    parts = [detector.probabilities(frames[place : place + 7]) for place in range(0, len(frames), 7)]
    assert np.allclose(np.concatenate(parts), speech_probabilities(frames), atol=1e-3)


def test_a_long_item_is_cut_where_there_is_least_speech_and_after_its_sent_words() -> None:
    item = Item("item_1", None, CONFIG, 0)
    for place in range(100):
        item.add(bytes(2 * FRAME), 0.1 if place in (20, 80) else 0.9, 0.5)
    item.agreement.add(timed("one two"))
    item.agreement.add(timed("one two"))
    audio, probabilities = item.cut()
    assert (item.samples, len(audio), len(probabilities)) == (80 * FRAME, 20 * FRAME * 2, 20)


def item_of(seconds: float, language: str = "en") -> Item:
    return Item("item_1", None, replace(CONFIG, language=language), 0, bytearray(2 * int(16_000 * seconds)))


def history_of(*texts: str, seconds: float = 4.0) -> History:
    """Items with these texts, each of so many seconds."""
    history = History()
    history.whole(item_of(1), WINDOW)
    for text in texts:
        history.add(item_of(seconds), timed(text))
    return history


def test_an_item_is_heard_after_those_before_it() -> None:
    stretch = history_of("One two.", "Three four.", seconds=3.0).whole(item_of(3), WINDOW)
    assert (len(stretch.audio), stretch.start) == (2 * 16_000 * 9, -6.0)


def test_an_item_and_those_before_it_fit_into_the_models_window() -> None:
    assert history_of("One two.").whole(item_of(3), 5.0).start == 0.0


def test_only_the_words_after_those_before_it_are_the_items() -> None:
    stretch = history_of("We went home.").whole(item_of(3), WINDOW)
    told = [
        TimedWord(" We", 0.3, 0.6),
        TimedWord(" went", 0.6, 1.0),
        TimedWord(" home.", 1.0, 1.5),
        TimedWord(" So", 3.8, 4.5),
    ]
    assert [word.text for word in stretch.words(told)] == [" So"]


@pytest.mark.parametrize(
    ("texts", "context"),
    [(("One two.", "Three."), "One two."), (("One two", "Three."), ""), (("One.", "Three"), "One.")],
)
def test_what_was_said_too_long_ago_to_be_heard_again_is_a_text(texts: tuple[str, ...], context: str) -> None:
    assert history_of(*texts, seconds=5.0).whole(item_of(4), WINDOW).context == context


def test_what_was_said_in_another_language_is_forgotten() -> None:
    stretch = history_of("One two.").whole(item_of(3, language="de"), WINDOW)
    assert (stretch.start, stretch.context) == (0.0, "")


def test_without_a_given_language_an_item_follows_those_that_were_heard_in_its_own() -> None:
    history = History()
    for language, text in (("fr", "Un deux."), ("en", "One two.")):
        item = item_of(3, language="")
        item.detected_language = language
        history.add(item, timed(text))
    unheard, english = item_of(3, language=""), item_of(3, language="")
    english.detected_language = "en"
    assert [history.whole(each, WINDOW).start for each in (unheard, english)] == [0.0, -3.0]


def test_a_pass_over_a_long_open_item_begins_at_a_pause_in_the_sent_words() -> None:
    item = item_of(7)
    for _ in range(2):
        item.agreement.add([TimedWord(" one", 0.5, 1.0), TimedWord(" two", 2.5, 4.0), TimedWord(" three", 4.0, 5.0)])
    stretch = history_of("Zero.").recent(item)
    assert (stretch.start, stretch.context, len(stretch.audio)) == (1.0, "Zero. one", 2 * 16_000 * 6)


def update(**options: Any) -> Any:
    return {"type": "session.update", "session": {"type": "transcription", **options}}


def update_input(**options: Any) -> Any:
    return update(audio={"input": options})


def test_a_session_update_changes_only_what_it_names() -> None:
    options = {"format": {"type": "audio/pcmu"}, "transcription": {"language": "de"}, "noise_reduction": None}
    event = update_input(**options)
    expected = replace(CONFIG, audio_format="audio/pcmu", rate=8_000, language="de")
    assert parse(event, CONFIG, SERVED) == Update(expected)


def test_a_prompt_of_1024_code_points_is_taken_and_one_more_is_not() -> None:
    longest = "👍" * 1024
    assert parse(update_input(transcription={"prompt": longest}), CONFIG, SERVED) == Update(
        replace(CONFIG, prompt=longest)
    )
    with pytest.raises(InvalidRequest, match="longer than 1024"):
        parse(update_input(transcription={"prompt": longest + "a"}), CONFIG, SERVED)


@pytest.mark.parametrize(
    ("given", "detection"),
    [
        (None, None),
        ({"type": "server_vad", "threshold": 0.6, "silence_duration_ms": 350}, Detection(0.6, 300, 350)),
        ({"type": "semantic_vad", "eagerness": "high"}, Detection()),
    ],
)
def test_turn_detection_may_be_switched_off_or_set(given: Any, detection: Detection | None) -> None:
    assert parse(update_input(turn_detection=given), CONFIG, SERVED) == Update(replace(CONFIG, detection=detection))


@pytest.mark.parametrize("text", ['{"x": [' + "1," * 3_000 + "1]}", "{" + '"a": 1, ' * 3_000 + '"b": 1}', "[" * 3_000])
def test_an_event_of_many_values_is_refused_before_it_is_parsed(text: str) -> None:
    with pytest.raises(InvalidRequest, match="too many values"):
        read(text.encode())


@pytest.mark.parametrize("text", ["AAE", "A", "AAECA"], ids=["cut", "one", "cut behind a whole group"])
def test_cut_base64_is_an_error(text: str) -> None:
    with pytest.raises(InvalidRequest, match="base64"):
        parse({"type": "input_audio_buffer.append", "audio": text}, CONFIG, SERVED)


@pytest.mark.parametrize("text", ["AAEC", "AA\nEC\n", "AA\r\nEC"], ids=["plain", "of MIME", "of Windows"])
def test_audio_is_base64_which_may_have_line_breaks(text: str) -> None:
    assert parse({"type": "input_audio_buffer.append", "audio": text}, CONFIG, SERVED) == Append(b"\0\1\2")


@pytest.mark.parametrize(("kind", "event"), [("commit", Commit()), ("clear", Clear())])
def test_commit_and_clear_are_events_of_their_own(kind: str, event: Commit | Clear) -> None:
    assert parse({"type": f"input_audio_buffer.{kind}"}, CONFIG, SERVED) == event


@pytest.mark.parametrize(
    ("event", "param"),
    [
        ({}, "type"),
        ({"type": "input_audio_buffer.append"}, "audio"),
        ({"type": "session.update"}, "session"),
        (update(type="realtime"), "session.type"),
        ({"type": "transcription_session.update", "session": {}}, "type"),
        (update(voice="alloy"), "session.voice"),
        (update_input(format={"type": "audio/mp3"}), f"{INPUT}.format.type"),
        (update_input(format=RATE_11), f"{INPUT}.format.rate"),
        (update_input(format={"type": {}}), f"{INPUT}.format.type"),
        (update_input(transcription={"model": "other"}), "model"),
        (update_input(transcription={"language": "xx"}), "language"),
        (update_input(turn_detection={"type": "other_vad"}), f"{INPUT}.turn_detection.type"),
        (update_input(turn_detection={"threshold": 2}), f"{INPUT}.turn_detection.threshold"),
    ],
)
def test_a_faulty_event_names_its_parameter(event: Any, param: str) -> None:
    with pytest.raises(InvalidRequest) as fault:
        parse(event, CONFIG, SERVED)
    assert fault.value.param == param


@pytest.mark.parametrize(
    "text", [b"", b"[]", b"nan", b'{"type": "\xff"}', b"[" * 100_000, b"[" + b"[]," * 3_000 + b"[]]"]
)
def test_what_is_no_json_object_is_refused(text: bytes) -> None:
    with pytest.raises(InvalidRequest):
        read(text)
