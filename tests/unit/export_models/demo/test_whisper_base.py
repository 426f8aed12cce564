"""The hub's form of a Whisper, made of CTranslate2's files as two publishers have them."""

import json
import shutil
from pathlib import Path
from typing import Any

import ctranslate2
import pytest
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from transformers import WhisperForConditionalGeneration

from scripts.export_models.demo import whisper_base
from scripts.export_models.demo.whisper_base import read_variables

# As an older version of the library wrote the same.
_OLD_FORM = {"byte_fallback", "ignore_merges"}


@pytest.fixture(scope="module")
def published(small: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The weights, and a tokenizer with merges: of the text pieces there are bytes alone."""
    folder = tmp_path_factory.mktemp("whisper") / "published"
    ctranslate2.converters.TransformersConverter(str(small)).convert(str(folder), quantization="float16")
    tokenizer = json.loads((small / "tokenizer.json").read_text(encoding="utf-8"))
    vocabulary = tokenizer["model"]["vocab"]
    for place, piece in ((300, "Ġt"), (301, "Ġth")):
        vocabulary.pop(f"Ġfiller{place}")
        vocabulary[piece] = place
    tokenizer["model"]["merges"] = [["Ġ", "t"], ["Ġt", "h"]]
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")
    return folder


def _made(published: Path, folder: Path) -> Path:
    folder.mkdir()
    for name in ("model.bin", "tokenizer.json"):
        shutil.copy(published / name, folder)
    whisper_base.make(folder)
    return folder


@pytest.fixture(scope="module")
def made(published: Path) -> Path:
    return _made(published, published.with_name("made"))


def _other_form(tokenizer: dict[str, Any]) -> dict[str, Any]:
    """As the other publisher has it: the first merge is lost, the end stands among the pieces, times are missing."""
    model = {name: value for name, value in tokenizer["model"].items() if name not in _OLD_FORM}
    end, *others = [each for each in tokenizer["added_tokens"] if each["special"]]
    silence = [each | {"content": each["content"].replace("nospeech", "nocaptions")} for each in others]
    pieces = model["vocab"] | {end["content"]: end["id"]}
    merges = [" ".join(merge) for merge in model["merges"][1:]]
    return tokenizer | {"model": model | {"vocab": pieces, "merges": merges}, "added_tokens": [end, *silence]}


def test_the_weights_are_those_before_the_conversion(small: Path, made: Path) -> None:
    wanted = WhisperForConditionalGeneration.from_pretrained(small).half().state_dict()
    found = load_file(made / "model.safetensors")
    # The last layer is the token embedding, and is kept once.
    assert wanted.keys() - found.keys() == {"proj_out.weight"}
    assert all(torch.equal(found[name], wanted[name]) for name in found)


def test_the_files_of_both_publishers_give_the_same_checkpoint(published: Path, made: Path, tmp_path: Path) -> None:
    shutil.copytree(published, tmp_path / "other")
    path = tmp_path / "other" / "tokenizer.json"
    path.write_text(json.dumps(_other_form(json.loads(path.read_text(encoding="utf-8")))), encoding="utf-8")
    both = (made, _made(tmp_path / "other", tmp_path / "made"))
    one, other = [{path.name: path.read_bytes() for path in folder.iterdir()} for folder in both]
    assert one == other
    assert one.keys() == {"model.safetensors", "tokenizer.json"}


def test_the_first_merge_is_there(made: Path) -> None:
    tokenizer = Tokenizer.from_file(str(made / "tokenizer.json"))
    assert tokenizer.encode(" th", add_special_tokens=False).tokens == ["Ġth"]


@pytest.mark.parametrize("token", ["<|nospeech|>", "<|notimestamps|>", "<|0.00|>", "<|30.00|>"])
def test_tokens_have_whispers_ids(small: Path, made: Path, token: str) -> None:
    found, wanted = (Tokenizer.from_file(str(folder / "tokenizer.json")) for folder in (made, small))
    assert found.token_to_id(token) == wanted.token_to_id(token)


def test_weights_in_another_version_of_the_format_are_refused(tmp_path: Path) -> None:
    (tmp_path / "model.bin").write_bytes((5).to_bytes(4, "little"))
    with pytest.raises(ValueError, match="version 5"):
        read_variables(tmp_path / "model.bin")
