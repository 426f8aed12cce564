"""Checkpoints that tests export."""

import json
import shutil
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from scripts.export_models.checkpoints import WHISPER_TURBO
from scripts.export_models.sources import DemoSource
from tests.conftest import ROOT

_START, _TRANSCRIBE = 50258, 50359
# The keys of a configuration of Whisper that have numbers of tokens.
_TOKENS = (
    "begin_suppress_tokens",
    "bos_token_id",
    "decoder_start_token_id",
    "eos_token_id",
    "no_timestamps_token_id",
    "pad_token_id",
    "prev_sot_token_id",
    "suppress_tokens",
)


@cache
def whisper_base() -> Path:
    """Whisper base, laid out as on the hub; it is downloaded unless an export of the demo has done that."""
    return DemoSource(ROOT / "build" / "export" / "demo").fetch(WHISPER_TURBO)


def whisper_of_english_alone(folder: Path) -> Path:
    """Whisper base laid out as a Whisper of English only: without the token by which there are several languages.

    All later tokens have the number before. It begins with the vector of the token for transcripts, since it has not
    learned to hear English without one.
    """
    source = whisper_base()
    folder.mkdir()
    tokenizer, config, generation = (
        _read(source / name) for name in ("tokenizer.json", "config.json", "generation_config.json")
    )
    gone = tokenizer["model"]["vocab"].pop("")
    tokenizer = _later(tokenizer, gone, ("id", "ids"))
    config = _later(config, gone, _TOKENS) | {"vocab_size": config["vocab_size"] - 1}
    generation = _later(generation, gone, _TOKENS) | {"is_multilingual": False}
    del generation["lang_to_id"], generation["task_to_id"]
    for name, content in (("tokenizer", tokenizer), ("config", config), ("generation_config", generation)):
        (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    shutil.copy(source / "preprocessor_config.json", folder)
    weights = load_file(source / "model.safetensors")
    words = "model.decoder.embed_tokens.weight"
    known = weights[words].clone()
    known[_START] = known[_TRANSCRIBE]
    weights[words] = torch.cat([known[:gone], known[gone + 1 :]])
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def _read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def _later(part: Any, gone: int, names: Sequence[str], named: bool = False) -> Any:
    """The part with each number of a token after the one that is ``gone`` reduced, below keys of these names."""
    if isinstance(part, dict):
        return {name: _later(value, gone, names, named or name in names) for name, value in part.items()}
    if isinstance(part, list):
        return [_later(each, gone, names, named) for each in part]
    return part - 1 if named and type(part) is int and part > gone else part
