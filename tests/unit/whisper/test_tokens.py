import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from transformers import AutoTokenizer

from tests.unit.whisper.engines import tokens_of


@pytest.fixture(scope="module")
def original(checkpoint: Path) -> Any:
    return AutoTokenizer.from_pretrained(checkpoint)


def _names(tokens: Any, ids: list[int]) -> list[str]:
    return [tokens._tokenizer.id_to_token(token) for token in ids]


def test_a_transcript_begins_with_its_language_the_task_and_that_no_times_are_wanted(tokens: Any) -> None:
    begin = ["<|startoftranscript|>", "<|it|>", "<|transcribe|>", "<|notimestamps|>"]
    assert _names(tokens, tokens.task("it")) == begin


def test_a_language_that_the_model_does_not_know_is_refused(module: ModuleType, tokens: Any) -> None:
    with pytest.raises(module.InvalidWindowError, match=r"<\|xx\|>"):
        tokens.task("xx")


def test_a_language_has_its_code(tokens: Any) -> None:
    assert [tokens.language_of(token) for token in tokens.languages[:3]] == ["en", "zh", "de"]
    assert all(tokens.task(tokens.language_of(token))[1] == token for token in tokens.languages)


def test_a_context_stands_behind_the_token_that_begins_it(tokens: Any, original: Any) -> None:
    ids = tokens.earlier(" Anna and Marco ", 100)
    assert _names(tokens, ids[:1]) == ["<|startofprev|>"]
    assert original.decode(ids[1:]) == " Anna and Marco"


def test_of_a_long_context_the_end_is_kept(tokens: Any) -> None:
    text = " ".join(f"word{number}" for number in range(200))
    ids = tokens.earlier(text, 30)
    assert len(ids) == 30
    assert text.endswith(tokens.decode(ids[1:]).strip())


@pytest.mark.parametrize("text", ["", "  \n"])
def test_no_context_is_no_tokens(tokens: Any, text: str) -> None:
    assert tokens.earlier(text, 100) == []


@pytest.mark.parametrize("written", ["<|startoftranscript|>", "<|endoftext|>", "<|de|>", "<|startofprev|>"])
def test_what_is_written_as_a_token_with_a_meaning_is_left_out_of_a_context(tokens: Any, written: str) -> None:
    begins, *said = tokens.earlier(f"Anna {written} and Marco", 100)
    assert max(said) < tokens.end < begins
    assert tokens.decode(said).split() == ["Anna", "and", "Marco"]


def test_text_is_read_as_it_was_written(tokens: Any, original: Any) -> None:
    ids = original.encode(" Grüezi, 你好!", add_special_tokens=False)
    assert tokens.decode(ids) == " Grüezi, 你好!"


@pytest.mark.parametrize("name", ["<|nospeech|>", "<|nocaptions|>"])
def test_silence_has_its_token_by_either_name(checkpoint: Path, exported: Path, tmp_path: Path, name: str) -> None:
    """Of the first models and of the later ones."""
    text = (checkpoint / "tokenizer.json").read_text(encoding="utf-8")
    (before,) = {each for each in ("<|nospeech|>", "<|nocaptions|>") if each in text}
    (tmp_path / "tokenizer.json").write_text(text.replace(before, name), encoding="utf-8")
    (tmp_path / "quartet.json").write_bytes((exported / "quartet.json").read_bytes())
    tokens = tokens_of(tmp_path)
    assert _names(tokens, [tokens.no_speech]) == [name]


def test_what_is_never_said_is_what_the_checkpoint_says(tokens: Any, checkpoint: Path) -> None:
    generation = json.loads((checkpoint / "generation_config.json").read_text(encoding="utf-8"))
    assert tokens.suppressed == generation["suppress_tokens"]
    assert tokens.suppressed_first == generation["begin_suppress_tokens"]
    assert set(tokens.languages) == set(generation["lang_to_id"].values())
