"""What a folder of added voices holds."""

import json
from pathlib import Path
from typing import Any

import pytest

from frontend.catalogue.voices import Voice
from scripts.export_models.added import AddedVoices
from scripts.export_models.checkpoints import SourceError

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
