"""What a folder of added voices holds."""

import json
from pathlib import Path
from typing import Any

import pytest

from frontend.catalogue.kokoro import DEMO_SPEAKERS, Speaker
from frontend.catalogue.voices import Voice
from scripts.export_models.added import AddedVoices, speakers
from scripts.export_models.checkpoints import SourceError
from scripts.export_models.kokoro.styles import local_file

PIPERS = {
    "audio": {"sample_rate": 22_050},
    "espeak": {"voice": "de"},
    "language": {"code": "de_DE", "family": "de"},
    "phoneme_type": "espeak",
    "phoneme_id_map": {"_": [0]},
}


def _put(folder: Path, name: str, **changed: Any) -> None:
    (folder / f"{name}.onnx").write_bytes(b"a graph")
    (folder / f"{name}.onnx.json").write_text(json.dumps(PIPERS | changed), encoding="utf-8")


def test_a_voice_has_the_language_of_its_file_and_a_gender_if_the_file_names_one(tmp_path: Path) -> None:
    _put(tmp_path, "eva")
    _put(tmp_path, "es_MX-ald-medium", language={"family": "es"}, gender="male")
    _put(tmp_path, "old", language=None, espeak={"voice": "pt-br"})
    assert dict(AddedVoices.of(tmp_path).voices) == {
        "piper_es_MX-ald-medium": Voice("es_MX-ald-medium", "es", "male"),
        "piper_eva": Voice("eva", "de", "unknown"),
        "piper_old": Voice("old", "pt", "unknown"),
    }


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"phoneme_id_map": {}, "espeak": {}}, "has no espeak.voice"),
        ({"phoneme_type": "pinyin"}, "has the phoneme_type 'pinyin', and only 'espeak' can be served"),
        ({"gender": "loud"}, "has the gender 'loud'; it must be one of female, male, unknown"),
        ({"language": {}, "espeak": {"voice": "1"}}, 'names no language, such as {"language": {"family": "en"}}'),
    ],
)
def test_a_voice_that_cannot_be_served_is_named_and_the_others_stay(
    tmp_path: Path, changed: dict[str, Any], reason: str
) -> None:
    _put(tmp_path, "eva")
    _put(tmp_path, "bad", **changed)
    found = AddedVoices.of(tmp_path)
    assert (list(found.voices), found.models) == (["piper_eva"], ("piper_bad", "piper_eva"))
    assert found.faults == {"piper_bad": f"{tmp_path / 'bad.onnx.json'} {reason}"}


def test_a_voice_needs_its_description(tmp_path: Path) -> None:
    (tmp_path / "eva.onnx").write_bytes(b"a graph")
    assert AddedVoices.of(tmp_path).faults == {"piper_eva": f"{tmp_path / 'eva.onnx.json'} is missing"}


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("Amy", "there is a voice amy already"),
        ("my voice", "a voice's name has 1 to 40 letters, digits, - and _ of ASCII, and begins with a letter or digit"),
    ],
)
def test_a_file_that_cannot_be_a_voices_is_left_out_with_a_sentence(tmp_path: Path, name: str, reason: str) -> None:
    _put(tmp_path, name)
    found = AddedVoices.of(tmp_path)
    assert (found.models, found.misnamed) == ((), (f"{tmp_path / name}.onnx is left out: {reason}",))


def test_a_folder_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="must hold Piper voices"):
        AddedVoices.of(tmp_path / "nowhere")


def _settings(folder: Path, text: str) -> dict[str, str]:
    (folder / "quartet.toml").write_text(text, encoding="utf-8")
    return {"QUARTET_CONFIG": str(folder / "quartet.toml")}


def test_the_settings_file_adds_voices_of_kokoro_to_those_of_the_demo(tmp_path: Path) -> None:
    style = tmp_path / "af_bella.bin"
    style.write_bytes(bytes(510 * 256 * 4))
    environ = _settings(tmp_path, f"[voices.bella]\nkokoro = 'af_bella'\nfrom = '{tmp_path}'\n")
    bella = Speaker.of("bella", "af_bella", str(tmp_path))
    assert speakers("demo", environ) == (*DEMO_SPEAKERS, bella)
    assert speakers("hub", environ) == (bella,)
    assert local_file(bella) == style


@pytest.mark.parametrize("text", ["", "voices = 'amy'\n"])
def test_without_a_table_of_voices_only_the_demo_has_some_of_kokoro(tmp_path: Path, text: str) -> None:
    assert speakers("demo", _settings(tmp_path, text)) == DEMO_SPEAKERS
    assert speakers("folder", _settings(tmp_path, text)) == speakers("hub", {}) == ()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[voices.eva]\nkokoro = 'zf_xiaoni'", r"QUARTET_CONFIG: .*quartet.toml: voices: eva: Kokoro speaks "),
        ("[voices.eva", r"QUARTET_CONFIG: .*quartet.toml: Expected "),
        ("[voices.eva]\nkokoro = 'af_bella'", "eva: there is no af_bella.bin in .*, which has af_heart, em_alex, "),
        (
            "[voices.eva]\nkokoro = 'af_bella'\nfrom = '/nowhere'",
            "eva: there is no af_bella.bin in /nowhere, which has none",
        ),
    ],
)
def test_a_voice_of_the_settings_file_that_cannot_be_is_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(SourceError, match=f"^{sentence}"):
        speakers("hub", _settings(tmp_path, text))


def test_a_file_of_another_size_is_no_style(tmp_path: Path) -> None:
    (tmp_path / "af_bella.bin").write_bytes(b"short")
    with pytest.raises(SourceError, match="af_bella.bin has 5 bytes, and a style has 522240$"):
        speakers("hub", _settings(tmp_path, f"[voices.eva]\nkokoro = 'af_bella'\nfrom = '{tmp_path}'\n"))


def test_a_voice_of_piper_cannot_have_the_name_of_one_of_kokoro(tmp_path: Path) -> None:
    _put(tmp_path, "eva")
    found = AddedVoices.of(tmp_path, [Speaker.of("eva", "af_heart")])
    assert (found.models, found.misnamed) == (
        (),
        (f"{tmp_path / 'eva'}.onnx is left out: there is a voice eva already",),
    )
