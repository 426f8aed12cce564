import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from transformers import AutoTokenizer, WhisperFeatureExtractor

from client.recordings import recordings
from scripts.export_models.triton_code import recognizer_module
from tests.unit.whisper.engines import tokens_of

_SECONDS = np.arange(80_000) / 16_000
_SOUNDS = {
    "noise": np.random.default_rng(0).normal(0, 0.1, 50_000),
    "a click": np.eye(1, 50_000, 20_000)[0],
    "a tone that dies away": np.sin(2 * np.pi * 440 * _SECONDS) * np.exp(-_SECONDS),
    "a person": recordings("en")[0].samples(),
    "a high tone and a soft low one": np.sin(2 * np.pi * 7_900 * _SECONDS) + 1e-2 * np.sin(2 * np.pi * 90 * _SECONDS),
}


@pytest.mark.parametrize("sound", list(_SOUNDS))
@pytest.mark.parametrize("bins", [80, 128])
def test_features_are_those_of_transformers(bins: int, sound: str) -> None:
    audio = _SOUNDS[sound].astype(np.float32)
    extractor = WhisperFeatureExtractor(feature_size=bins, chunk_length=30)
    wanted = extractor(audio, sampling_rate=16_000, return_tensors="np").input_features[0]
    # transformers' own, in single precision too, is up to 1e-4 from what double precision gives for the two tones.
    assert np.abs(recognizer_module("features").LogMel(bins)(audio, 480_000) - wanted).max() < 2e-4


def test_silence_has_finite_features() -> None:
    assert np.isfinite(recognizer_module("features").LogMel(80)(np.zeros(100, np.float32), 16_000)).all()


@pytest.fixture(scope="module")
def original(checkpoint: Path) -> Any:
    return AutoTokenizer.from_pretrained(checkpoint)


def _names(tokens: Any, ids: list[int]) -> list[str]:
    return [tokens._tokenizer.id_to_token(token) for token in ids]


def test_a_language_has_its_code(tokens: Any) -> None:
    assert [tokens.language_of(token) for token in tokens.languages[:3]] == ["en", "zh", "de"]
    assert all(tokens.task(tokens.language_of(token))[1] == token for token in tokens.languages)


def test_of_a_long_context_the_end_is_kept(tokens: Any) -> None:
    text = " ".join(f"word{number}" for number in range(200))
    ids = tokens.earlier(text, 30)
    assert len(ids) == 30
    assert text.endswith(tokens.decode(ids[1:]).strip())


@pytest.mark.parametrize(
    ("keywords", "rest", "kept"),
    [(4, 4, (4, 4)), (4, 40, (4, 15)), (40, 4, (15, 4)), (40, 40, (9, 10)), (40, 0, (19, 0)), (0, 40, (0, 19))],
    ids=["both fit", "a long prompt", "many keywords", "both are long", "keywords alone", "a prompt alone"],
)
def test_of_keywords_the_first_stay_and_of_a_prompt_the_last(
    tokens: Any, keywords: int, rest: int, kept: tuple[int, int]
) -> None:
    # Each is a token.
    first, last = [" red"] * keywords, [" blue"] * rest
    ids = tokens.earlier(f"{''.join(first)}\x1f{''.join(last)}", 20)
    assert tokens.decode(ids[1:]) == "".join(first[: kept[0]] + last[len(last) - kept[1] :])


@pytest.mark.parametrize("text", ["", "  \n", "\x1f", " \x1f\n"])
def test_no_context_is_no_tokens(tokens: Any, text: str) -> None:
    assert tokens.earlier(text, 100) == []


@pytest.mark.parametrize("written", ["<|startoftranscript|>", "<|endoftext|>", "<|de|>", "<|startofprev|>"])
def test_special_tokens_in_a_context_are_left_out(tokens: Any, written: str) -> None:
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


def test_suppressed_tokens_are_those_of_the_checkpoint(tokens: Any, checkpoint: Path) -> None:
    generation = json.loads((checkpoint / "generation_config.json").read_text(encoding="utf-8"))
    assert tokens.suppressed == generation["suppress_tokens"]
    assert tokens.suppressed_first == generation["begin_suppress_tokens"]
    assert set(tokens.languages) == set(generation["lang_to_id"].values())
