"""Makes the hub's form of Whisper base out of CTranslate2's, with the same bytes for both publishers."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

from scripts.export_models.demo.ctranslate_weights import read_variables, whisper_state

# The first merge, which one publisher's tokenizer lacks; without it, words that begin with a t are split.
_FIRST_MERGE = ["Ġ", "t"]
_END = "<|endoftext|>"
# OpenAI has renamed this token.
_SILENCE = {"<|nocaptions|>": "<|nospeech|>"}
_TIMES = 1501
_TIME_STEP_SECONDS = 0.02


def make(folder: Path) -> None:
    """Make the checkpoint, in float16, of ``model.bin`` and ``tokenizer.json`` in ``folder``."""
    weights = folder / "model.bin"
    state = whisper_state(read_variables(weights))
    tensors = {name: np.ascontiguousarray(tensor) for name, tensor in state.items()}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    weights.unlink()
    path = folder / "tokenizer.json"
    whole = _tokenizer(json.loads(path.read_text(encoding="utf-8")))
    path.write_text(json.dumps(whole, ensure_ascii=False, sort_keys=True), encoding="utf-8")


def _tokenizer(published: dict[str, Any]) -> dict[str, Any]:
    """The tokenizer with all of Whisper's tokens, in the newer of the two forms that publishers have."""
    model = published["model"]
    merges = [each.split(" ") if isinstance(each, str) else each for each in model["merges"]]
    merges = merges if merges[0] == _FIRST_MERGE else [_FIRST_MERGE, *merges]
    vocabulary = {piece: token for piece, token in model["vocab"].items() if piece != _END}
    form = {"byte_fallback": False, "ignore_merges": False}
    added = [
        {**token, "content": _SILENCE.get(token["content"], token["content"])}
        for token in published["added_tokens"]
        if token["special"]
    ]
    first = added[-1]["id"] + 1
    for step in range(_TIMES):
        text = f"<|{step * _TIME_STEP_SECONDS:.2f}|>"
        added.append({**added[0], "id": first + step, "content": text, "normalized": True, "special": False})
    return {**published, "model": {**model, **form, "vocab": vocabulary, "merges": merges}, "added_tokens": added}
