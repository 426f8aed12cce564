"""A Whisper checkpoint in whisper.cpp's file format: matrices in blocks of 4 bits, with which it is quickest, or of 8.

The format is that of whisper.cpp's ``models/convert-h5-to-ggml.py`` and ``examples/quantize``: whisper.cpp quantises
every matrix that is multiplied with, and keeps convolutions in fp16 and all else in fp32.
"""

import json
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from safetensors import safe_open
from tokenizers.pre_tokenizers import ByteLevel
from transformers import WhisperFeatureExtractor
from transformers.models.gpt2.tokenization_gpt2 import bytes_to_unicode

_MAGIC = 0x67676D6C
_F32, _F16 = 0, 1
_BLOCK = 32
_TEXT_PIECES = 50_257
_NAMES = (
    ("model.", ""),
    ("layers", "blocks"),
    ("fc1", "mlp.0"),
    ("fc2", "mlp.2"),
    ("encoder_attn_layer_norm", "cross_attn_ln"),
    ("self_attn_layer_norm", "attn_ln"),
    ("final_layer_norm", "mlp_ln"),
    ("encoder_attn", "cross_attn"),
    ("self_attn", "attn"),
    ("q_proj", "query"),
    ("k_proj", "key"),
    ("v_proj", "value"),
    ("out_proj", "out"),
    ("embed_tokens", "token_embedding"),
    ("embed_positions.weight", "positional_embedding"),
    ("encoder.layer_norm", "encoder.ln_post"),
    ("decoder.layer_norm", "decoder.ln"),
)


def q4_0(matrix: np.ndarray) -> bytes:
    """Blocks of 32 in a row: their step in fp16, then 16 bytes, each of a number of either half."""
    blocks = matrix.reshape(-1, _BLOCK)
    largest = np.take_along_axis(blocks, np.abs(blocks).argmax(1, keepdims=True), 1)
    steps = largest / -8
    scaled = np.divide(blocks, steps, out=np.zeros_like(blocks), where=steps != 0)
    numbers = np.minimum(scaled + 8.5, 15).astype(np.uint8)
    packed = np.empty(len(blocks), np.dtype([("step", "<f2"), ("values", "u1", _BLOCK // 2)]))
    packed["step"] = steps[:, 0]
    packed["values"] = numbers[:, : _BLOCK // 2] | numbers[:, _BLOCK // 2 :] << 4
    return packed.tobytes()


def q8_0(matrix: np.ndarray) -> bytes:
    """Blocks of 32 in a row: their step in fp16, then 32 bytes."""
    blocks = matrix.reshape(-1, _BLOCK)
    steps = np.abs(blocks).max(1, keepdims=True) / 127
    packed = np.empty(len(blocks), np.dtype([("step", "<f2"), ("values", "i1", _BLOCK)]))
    packed["step"] = steps[:, 0]
    packed["values"] = np.rint(np.divide(blocks, steps, out=np.zeros_like(blocks), where=steps != 0))
    return packed.tobytes()


@dataclass(frozen=True)
class Blocks:
    """How matrices are packed: by ``pack``, as whisper.cpp's ``tensor_type`` in its ``file_type``."""

    pack: Callable[[np.ndarray], bytes]
    tensor_type: int
    file_type: int


# GGML_FTYPE_MOSTLY_Q4_0 and _Q8_0, of the second version of block formats.
Q4_0, Q8_0 = Blocks(q4_0, 2, 2002), Blocks(q8_0, 8, 2007)


def _write_tensor(file: BinaryIO, name: str, tensor: np.ndarray, blocks: Blocks) -> None:
    if ".conv" in name and name.endswith("bias"):
        tensor = tensor[:, None]
    matrix = tensor.ndim == 2 and "positional" not in name and ".conv" not in name
    kind = blocks.tensor_type if matrix else _F16 if tensor.ndim == 3 else _F32
    encoded = name.encode()
    file.write(struct.pack("<iii", tensor.ndim, len(encoded), kind))
    file.write(struct.pack(f"<{tensor.ndim}i", *reversed(tensor.shape)) + encoded)
    file.write(blocks.pack(tensor) if matrix else tensor.astype(np.float16 if kind == _F16 else np.float32).tobytes())


def write(checkpoint: Path, target: Path, blocks: Blocks = Q4_0) -> None:
    """The checkpoint's single safetensors file as ``target``, a tensor at a time."""
    config = json.loads((checkpoint / "config.json").read_text(encoding="utf-8"))
    pieces = json.loads((checkpoint / "vocab.json").read_text(encoding="utf-8"))
    filters = WhisperFeatureExtractor(feature_size=config["num_mel_bins"]).mel_filters.T.astype(np.float32)
    byte_of = {letter: byte for byte, letter in bytes_to_unicode().items()}
    assert set(byte_of) == set(ByteLevel.alphabet())
    numbers = (
        "vocab_size max_source_positions d_model encoder_attention_heads encoder_layers max_target_positions d_model "
        "decoder_attention_heads decoder_layers num_mel_bins"
    )
    with target.open("wb") as file, safe_open(checkpoint / "model.safetensors", "np") as tensors:
        file.write(struct.pack("<12i", _MAGIC, *(config[name] for name in numbers.split()), blocks.file_type))
        file.write(struct.pack("<2i", *filters.shape) + filters.tobytes())
        ordered = sorted(pieces, key=pieces.__getitem__)[:_TEXT_PIECES]
        file.write(struct.pack("<i", len(ordered)))
        for piece in ordered:
            encoded = bytes(byte_of[letter] for letter in piece)
            file.write(struct.pack("<i", len(encoded)) + encoded)
        for name in tensors.keys():  # noqa: SIM118
            ours = name
            for theirs, its in _NAMES:
                ours = ours.replace(theirs, its)
            if ours != "proj_out.weight":
                _write_tensor(file, ours, tensors.get_tensor(name).astype(np.float32), blocks)
