"""Whispers of English alone, from the hub's layout and as CTranslate2 has converted them."""

import json
from pathlib import Path
from typing import Any

import pytest

from client.recordings import recordings
from client.verify.people import word_error
from scripts.export_models.triton_code import recognizer_module
from scripts.export_models.whisper import convert, take_over
from scripts.export_models.whisper_layout import alignment_heads, is_english_only
from tests.checkpoints import whisper_base, whisper_of_english_alone

(SPOKEN,) = recordings("en", most=1)


@pytest.fixture(scope="module")
def english(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return whisper_of_english_alone(tmp_path_factory.mktemp("english") / "checkpoint")


@pytest.fixture(scope="module", params=["graphs", "taken over"])
def exported(request: pytest.FixtureRequest, english: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The ways to export a Whisper."""
    folder = tmp_path_factory.mktemp("exported")
    convert(english, folder / "whisper", "int8", graphs=request.param == "graphs")
    if request.param != "taken over":
        return folder / "whisper"
    (folder / "whisper" / "quartet.json").unlink()
    settings = json.loads((folder / "whisper" / "config.json").read_text(encoding="utf-8"))
    # Tokens for which CTranslate2 would write beyond its memory.
    settings["suppress_ids"] += [10**9, -5]
    (folder / "whisper" / "config.json").write_text(json.dumps(settings), encoding="utf-8")
    take_over(folder / "whisper", folder / "taken")
    return folder / "taken"


def test_it_hears_english_and_refuses_other_languages(exported: Path) -> None:
    settings = json.loads((exported / "quartet.json").read_text(encoding="utf-8"))
    assert (settings["languages"], settings["multilingual"]) == ({"en": 50258}, False)
    assert set(settings["suppressed"]) <= set(range(51_864))
    recognizer, windows = recognizer_module().Recognizer(exported), recognizer_module("windows")
    heard, told = recognizer.transcribe([windows.Window(SPOKEN.samples(), language=code) for code in ("", "en")])
    assert heard == told
    assert heard.language == "en"
    assert word_error(SPOKEN.text, "".join(word.text for word in heard.words)) < 0.5
    ends = [word.end for word in heard.words]
    assert ends == sorted(ends)
    with pytest.raises(windows.InvalidWindowError, match="knows English alone, not de"):
        recognizer.transcribe([windows.Window(SPOKEN.samples(), language="de")])


def test_a_checkpoint_says_whether_it_knows_english_alone(english: Path, tmp_path: Path) -> None:
    assert is_english_only(english)
    assert not is_english_only(whisper_base())
    # OpenAI's rule, where a fine-tune says nothing of it.
    for size, is_english in ((51_864, True), (51_865, False)):
        (tmp_path / "generation_config.json").write_text('{"eos_token_id": 1}', encoding="utf-8")
        (tmp_path / "config.json").write_text(json.dumps({"vocab_size": size}), encoding="utf-8")
        assert is_english_only(tmp_path) is is_english


@pytest.mark.parametrize(
    ("named", "heads"),
    [
        ({"alignment_heads": [[1, 0]]}, [[1, 0]]),
        ({}, [[1, 0], [1, 1]]),
        ({"alignment_heads": None}, [[1, 0], [1, 1]]),
        ({"alignment_heads": [[1, 0], [10, 1]]}, [[1, 0], [1, 1]]),
    ],
    ids=["its own", "none", "null", "those of its teacher"],
)
def test_words_are_placed_by_heads_that_the_decoder_has(named: dict[str, Any], heads: list[list[int]]) -> None:
    assert alignment_heads({"decoder_layers": 2, "decoder_attention_heads": 2}, named) == heads
