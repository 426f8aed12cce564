"""Makes the hub's form of Whisper base out of CTranslate2's, with the same bytes for both publishers.

CTranslate2's ``model.bin`` has the layout of ``ctranslate2/specs/model_spec.py`` (binary version 6): a header, then
each variable's name, shape, type and bytes, then aliases.
"""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file

# The first merge, which one publisher's tokenizer lacks; without it, words that begin with a t are split.
_FIRST_MERGE = ["Ġ", "t"]
_END = "<|endoftext|>"
# OpenAI has renamed this token.
_SILENCE = {"<|nocaptions|>": "<|nospeech|>"}
_TIMES = 1501
_TIME_STEP_SECONDS = 0.02
_BINARY_VERSION = 6
_DTYPES = (np.float32, np.int8, np.int16, np.int32, np.float16)

Weights = dict[str, NDArray[Any]]

_NORM = {"gamma": "weight", "beta": "bias"}
# CTranslate2's names of a layer's parts, each with the parts of ``transformers`` that it has one below the other.
_PARTS = {
    "self_attention/layer_norm": ("self_attn_layer_norm",),
    "self_attention/linear_0": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    "self_attention/linear_1": ("self_attn.out_proj",),
    "attention/layer_norm": ("encoder_attn_layer_norm",),
    "attention/linear_0": ("encoder_attn.q_proj",),
    "attention/linear_1": ("encoder_attn.k_proj", "encoder_attn.v_proj"),
    "attention/linear_2": ("encoder_attn.out_proj",),
    "ffn/layer_norm": ("final_layer_norm",),
    "ffn/linear_0": ("fc1",),
    "ffn/linear_1": ("fc2",),
}
_WHOLE = {
    "position_encodings/encodings": "embed_positions.weight",
    "embeddings/weight": "embed_tokens.weight",
    "layer_norm/gamma": "layer_norm.weight",
    "layer_norm/beta": "layer_norm.bias",
}


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


# CTranslate2's weights under the names of ``transformers``


class _Reader:
    """Reads little-endian values one after another."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = memoryview(data), 0

    def number(self, size: int) -> int:
        return int.from_bytes(self.bytes(size), "little")

    def bytes(self, size: int) -> memoryview:
        self._at += size
        return self._data[self._at - size : self._at]

    def text(self) -> str:
        return bytes(self.bytes(self.number(2))[:-1]).decode()


def read_variables(path: Path) -> Weights:
    """The variables of a ``model.bin`` by CTranslate2's names; raises ``ValueError`` for another version."""
    reader = _Reader(path.read_bytes())
    if (version := reader.number(4)) != _BINARY_VERSION:
        raise ValueError(f"{path} has version {version}, not {_BINARY_VERSION}")
    reader.text()
    reader.number(4)
    variables = {}
    for _ in range(reader.number(4)):
        name = reader.text()
        shape = [reader.number(4) for _ in range(reader.number(1))]
        dtype = _DTYPES[reader.number(1)]
        variables[name] = np.frombuffer(reader.bytes(reader.number(4)), dtype).reshape(shape)
    # The converter writes equal variables once, with aliases.
    for _ in range(reader.number(4)):
        name = reader.text()
        variables[name] = variables[reader.text()]
    return variables


def whisper_state(variables: Weights) -> Weights:
    """The state dict of a ``WhisperForConditionalGeneration``, whose last layer is its token embedding."""
    state = {}
    for name, array in variables.items():
        if array.ndim:
            state.update({f"model.{new}": part for new, part in _renamed(name, array)})
    return state


def _renamed(name: str, array: NDArray[Any]) -> list[tuple[str, NDArray[Any]]]:
    side, _, rest = name.partition("/")
    if rest in _WHOLE:
        return [(f"{side}.{_WHOLE[rest]}", array)]
    if not (found := re.fullmatch(r"layer_(\d+)/(.+)/(\w+)", rest)):
        # The convolutions have the same names. The rest are settings, such as the alignment heads.
        return [(f"{side}.{rest.replace('/', '.')}", array)] if rest.startswith("conv") else []
    layer, part, kind = found.groups()
    parts = _PARTS[part]
    named = zip(parts, np.split(array, len(parts)), strict=True)
    # Whisper's keys have no bias: CTranslate2 writes zeros for it.
    kept = [(new, rows) for new, rows in named if not (kind == "bias" and new.endswith("k_proj"))]
    return [(f"{side}.layers.{layer}.{new}.{_NORM.get(kind, kind)}", rows) for new, rows in kept]
