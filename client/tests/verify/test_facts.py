import base64
import unicodedata
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from client.api import CommandError
from client.verify.facts import NAMED, PRECISIONS, Facts, Heard, People, load
from client.verify.people import clips
from frontend.catalogue.voices import VOICES

HUB = load("hub")


@pytest.mark.parametrize("name", NAMED)
def test_facts_come_back_from_their_file(name: str, tmp_path: Path) -> None:
    path = tmp_path / "facts.json"
    path.write_bytes(load(name).to_json())
    assert load(str(path)) == load(name)


@pytest.mark.parametrize("name", NAMED)
def test_every_voice_has_five_sentences_to_say(name: str) -> None:
    assert {len(load(name).speech.sentences[voice.language]) for voice in VOICES.values()} == {5}


def test_published_numbers_have_a_limit_in_every_precision() -> None:
    assert set(HUB.cosine_limits) == set(HUB.weight_limits) == set(HUB.logit_limits) == set(PRECISIONS)


def test_published_token_ids_are_of_ten_scripts_and_begin_and_end_as_texts_do() -> None:
    scripts = {
        "LATIN", "CJK", "DEVANAGARI", "ARABIC", "CYRILLIC", "GREEK", "HEBREW", "HANGUL", "HIRAGANA", "THAI",
    }  # fmt: skip
    assert scripts <= {_script(each.text) for each in HUB.texts}
    assert {(each.ids[0], each.ids[-1]) for each in HUB.texts} == {(0, 2)}


def _script(text: str) -> str:
    return unicodedata.name(next(letter for letter in text if letter.isalpha())).split()[0]


def test_the_demo_has_answers_to_all_its_questions_in_two_precisions() -> None:
    demo = load("demo")
    assert [each.precision for each in demo.recordings] == ["int8", "fp32"]
    for recording in demo.recordings:
        assert len(recording.vectors) == len(recording.tokens) == len(demo.texts)
        assert [len(each) for each in recording.scores] == [len(each.documents) for each in demo.rankings]
        assert {len(heard) for heard in recording.heard.values()} == {len(clips())}
        assert {len(spoken) for spoken in recording.spoken.values()} == {5}


def test_recorded_vectors_have_length_one() -> None:
    recording = load("demo").recordings[0]
    assert len(base64.b64decode(recording.vectors[0])) == 4 * 1024
    assert np.linalg.norm(recording.vector(0)) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("text", ["", "[]", '{"about": "", "unknown": 1}', '{"about": "", "texts": [{"word": "a"}]}'])
def test_what_is_no_file_of_facts_is_one_sentence(text: str, tmp_path: Path) -> None:
    path = tmp_path / "facts.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(CommandError, match="is no file of facts"):
        load(str(path))


def test_an_unknown_name_names_those_there_are() -> None:
    with pytest.raises(CommandError, match=r"nowhere: No such file or directory; facts are demo, hub or a file"):
        load("nowhere")


def test_parts_are_left_out_by_name() -> None:
    bare = HUB.without({"ids", "cosines", "alike", "weights", "scores", "best", "language", "seconds"})
    assert (bare.cosines, bare.alike) == ([], [])
    assert {len(each.ids) for each in bare.texts} == {0}
    assert [each.weights for each in bare.weighed] == [{}, {}]
    assert {(len(each.scores), each.best) for each in bare.rankings} == {(0, -1)}
    assert (bare.speech.language, bare.speech.seconds, bare.speech.word_error) == (False, None, 0.05)
    assert HUB.without(set()) == HUB


@pytest.mark.parametrize(
    ("part", "left"),
    [
        ("people_seconds", People({"it": 0.1}, None)),
        ("people_word_error", People({}, 0.5)),
        ("", People({"it": 0.1}, 0.5)),
    ],
)
def test_what_is_known_of_people_is_left_out_by_name(part: str, left: People) -> None:
    assert Facts("", people=People({"it": 0.1}, 0.5)).without({part}).people == left


def test_what_was_sampled_is_left_out_by_name() -> None:
    demo = load("demo")
    steady, sampled = Heard("en", "a", -0.1), Heard("en", "b", -3.0, temperature=0.01)
    recording = replace(demo.recordings[0], heard={"stt-1": [steady, sampled]})
    (bare,) = replace(demo, recordings=[recording]).without({"sampled"}).recordings
    assert [heard.text for heard in bare.heard["stt-1"]] == ["a", None]
