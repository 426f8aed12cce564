"""Voices of Kokoro: what a style says of its speaker, and the table of the settings file."""

from typing import Any

import pytest

from frontend.catalogue.kokoro import DEMO_SPEAKERS, HUB, Speaker, speakers_of
from frontend.catalogue.voices import VOICES, Voice


@pytest.mark.parametrize(
    ("style", "language", "gender", "espeak_voice"),
    [
        ("af_heart", "en", "female", "en-us"),
        ("bm_george", "en", "male", "en-gb-x-rp"),
        ("ef_dora", "es", "female", "es"),
        ("pm_alex", "pt", "male", "pt-br"),
    ],
)
def test_a_style_names_the_language_and_the_gender_of_its_speaker(
    style: str, language: str, gender: str, espeak_voice: str
) -> None:
    speaker = Speaker.of("eva", style)
    assert speaker.voice == Voice("eva", language, gender, of_kokoro=True)
    assert (speaker.espeak_voice, speaker.accent) == (espeak_voice, "")


def test_a_speaker_of_another_language_has_an_accent() -> None:
    speaker = Speaker.of("eva", "bf_emma", language="de")
    assert (speaker.voice.language, speaker.espeak_voice, speaker.accent) == ("de", "de", "en")


def test_the_demos_speakers_are_voices_of_the_contract_in_their_languages() -> None:
    for speaker in DEMO_SPEAKERS:
        known = VOICES[speaker.voice.name]
        assert (speaker.voice.language, speaker.voice.gender) == (known.language, known.gender)


def test_a_table_names_the_style_and_where_it_is() -> None:
    table = {"bella": {"kokoro": "af_bella", "from": "hub"}, "max": {"kokoro": "em_alex", "language": "de"}}
    bella, of_demo = speakers_of(table)
    assert (bella.style, bella.source) == ("af_bella", HUB)
    assert of_demo == Speaker.of("max", "em_alex", language="de")


@pytest.mark.parametrize(
    ("name", "given", "sentence"),
    [
        ("amy", {"kokoro": "af_bella"}, "amy: there is a voice amy already"),
        ("my voice", {"kokoro": "af_bella"}, "my voice: a voice's name has 1 to 40 letters"),
        ("eva", "af_bella", 'eva: must be a table of texts, such as kokoro = "af_bella" and from = "hub"'),
        ("eva", {"kokoro": 1}, "eva: must be a table of texts"),
        ("eva", {}, "eva: kokoro is missing, the name of a style such as af_bella"),
        ("eva", {"kokoro": "af_bella", "speed": "2"}, "eva: there is no 'speed'; there are kokoro, from, language"),
        ("eva", {"kokoro": "../../etc"}, "eva: kokoro must be a style such as af_heart, not '../../etc'"),
        (
            "eva",
            {"kokoro": "jf_alpha"},
            "eva: Kokoro speaks de, en, es, fr, hi, it, pt here: espeak-ng has no phonemes of",
        ),
        ("eva", {"kokoro": "af_bella", "language": "zh"}, "eva: Kokoro speaks de, en, es, fr, hi, it, pt here"),
    ],
)
def test_a_voice_that_cannot_be_is_one_sentence(name: str, given: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match="^" + sentence.replace("(", r"\(")):
        speakers_of({name: given})
