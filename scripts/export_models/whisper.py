"""Exports Whisper: as two graphs for OpenVINO in int8, or as CTranslate2's files in any precision.

From top to bottom: the export, the layers of both graphs, the encoder, and the decoder.

In the encoder each row of activations is quantised at run time by its own extremes, each row of weights at export, as
in CTranslate2. OpenVINO multiplies integers only after a fake quantisation with fixed bounds, so each row is divided by
its scale before, and the product is multiplied by it. Everything else is computed in bfloat16 if the processor has it,
else in float32. The decoder runs step by step and has int8 weights, which are multiplied in floating point.
"""

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np
import openvino as ov
from numpy.typing import NDArray
from openvino import opset15 as op
from openvino.op.util import Variable, VariableInfo
from tokenizers import Tokenizer
from transformers import WhisperModel
from transformers.models.whisper.tokenization_whisper import LANGUAGES

from scripts.export_models import whisper_checks
from scripts.export_models.checkpoints import CTRANSLATE2, SourceError, files_read, read_json
from scripts.export_models.parity import Check, not_checked
from scripts.export_models.precisions import FAST_INT8
from scripts.export_models.progress import SILENT, Progress
from scripts.export_models.triton_code import recognizer_module
from scripts.export_models.whisper_layout import alignment_heads, ctranslate_tokens, is_english_only

# A window is encoded with so much silence at least, up to a whole number of steps, at most as a whole window.
_SILENCE_SECONDS, _STEP_SECONDS = 6, 2
# The likeliest next tokens that a step of the decoder returns for each row; a search with beam N reads N + 1.
CANDIDATES = 10
_EPSILON = 1e-5
# Rows of zeros must not be divided by zero.
_LEAST_SCALE = 1e-9
# Zero points: of activations around zero, and of GELU's output, which is at least -0.17. For the latter, 8 and 32 lose
# more on the demo's Whisper.
_MIDDLE, _LOW = 128, 16
# CTranslate2's name of each precision; "int8" alone is OpenVINO's graphs.
_COMPUTE_TYPES = {"int8": "int8", "int8 by CTranslate2": "int8", "fp32": "float32", "fp16": "float16"}

# The way of a Whisper that CTranslate2 has converted before, whose folder names neither windows nor positions: all have
# these.
_AS_IT_IS = "CTranslate2"
_WINDOW_SECONDS, _TARGET_POSITIONS = 30, 448
# The lists of tokens in CTranslate2's settings.
_TOKEN_LISTS = ("suppress_ids", "suppress_ids_begin", "lang_ids")

Array = NDArray[np.float32]


def ways(precision: str, source: Path) -> list[str]:
    """The ways to export a Whisper, beginning with ``precision``; what CTranslate2 has converted stays as it is.

    bf16 is fp32, since CTranslate2 does not compute in bfloat16 on processors.
    """
    if (source / CTRANSLATE2).is_file():
        return [_AS_IT_IS]
    if precision == "fp16":
        return ["fp16"]
    return ["fp32"] if precision in ("fp32", "bf16") else ["int8", "int8 by CTranslate2", "fp32"]


def export(name: str, source: Path, target: Path, way: str, progress: Progress = SILENT) -> list[Check]:
    """Write the folder ``whisper`` below ``target`` in one of the ways, and compare it with its original."""
    folder = target / "whisper"
    shutil.rmtree(folder, ignore_errors=True)
    if way == _AS_IT_IS:
        take_over(source, folder)
        return [not_checked(name, "what CTranslate2 converted, with its original")]
    compute_type = _COMPUTE_TYPES[way]
    convert(source, folder, compute_type, graphs=way == "int8", progress=progress)
    return whisper_checks.compare(source, folder, name, compute_type, progress)


def convert(
    source: Path, target: Path, compute_type: str, *, graphs: bool = False, progress: Progress = SILENT
) -> None:
    """Write a model, its tokenizer and ``quartet.json`` into ``target``.

    With ``graphs``, the model is two graphs for OpenVINO in int8, else CTranslate2's files in ``compute_type``. Raises
    ``SourceError`` for a model of several languages that CTranslate2 takes for one of English only.
    """
    extractor, config = read_json(source / "preprocessor_config.json"), read_json(source / "config.json")
    generation = read_json(source / "generation_config.json")
    target.mkdir(parents=True, exist_ok=True)
    settings = {
        "window_seconds": extractor["chunk_length"],
        "silence_seconds": _SILENCE_SECONDS,
        "step_seconds": _STEP_SECONDS,
        "mel_bins": extractor["feature_size"],
        "max_target_positions": config["max_target_positions"],
        **_languages(source, generation.get("lang_to_id")),
        "suppressed": _known(generation.get("suppress_tokens"), config["vocab_size"]),
        "suppressed_first": _known(generation.get("begin_suppress_tokens"), config["vocab_size"]),
    }
    heads = alignment_heads(config, generation)
    if graphs:
        settings |= {"processor_flags": sorted(FAST_INT8), "alignment_heads": heads}
        _write_graphs(source, target, heads, progress)
    else:
        progress.step("converting", 0, 1)
        converter = ctranslate2.converters.TransformersConverter(str(source))
        converter.convert(str(target), quantization=compute_type, force=True)
        _bound(target / "config.json", config["vocab_size"], alignment_heads=heads)
        is_multilingual = ctranslate2.models.Whisper(str(target), device="cpu").is_multilingual
        if not is_multilingual and not is_english_only(source):
            raise SourceError(
                f"{source} is no multilingual Whisper: CTranslate2 finds no empty token in its vocabulary, by which it "
                "knows one, and would refuse to detect a language"
            )
    shutil.copy(source / "tokenizer.json", target)
    (target / "quartet.json").write_text(json.dumps(settings, indent=1) + "\n", encoding="utf-8")


def _bound(path: Path, words: int, **others: Any) -> None:
    """Leave in CTranslate2's settings only tokens of its vocabulary, with ``others``.

    CTranslate2 reads and writes beyond its memory for what its weights do not have.
    """
    written = read_json(path)
    tokens = {name: _known(written.get(name), words) for name in _TOKEN_LISTS if name in written}
    path.write_text(json.dumps(written | tokens | others), encoding="utf-8")


def _known(tokens: Sequence[Any] | None, words: int) -> list[int]:
    """The tokens of a vocabulary of so many ``words``."""
    return [token for token in tokens or [] if type(token) is int and 0 <= token < words]


def take_over(source: Path, target: Path) -> None:
    """Copy a Whisper that CTranslate2 has converted, and write ``quartet.json``."""
    target.mkdir(parents=True, exist_ok=True)
    for path in files_read(source):
        shutil.copy(path, target)
    _bound(target / "config.json", len(ctranslate_tokens(source)))
    model, config = ctranslate2.models.Whisper(str(target), device="cpu"), read_json(target / "config.json")
    settings = {
        "window_seconds": _WINDOW_SECONDS,
        "mel_bins": model.n_mels,
        "max_target_positions": _TARGET_POSITIONS,
        **_languages(source),
        "suppressed": config.get("suppress_ids") or [],
        "suppressed_first": config.get("suppress_ids_begin") or [],
    }
    (target / "quartet.json").write_text(json.dumps(settings, indent=1) + "\n", encoding="utf-8")


def _languages(source: Path, known: Mapping[str, int] | None = None) -> dict[str, Any]:
    """The languages of ``quartet.json``: the ``known`` tokens of a checkpoint, or else those of its tokenizer."""
    if not known:
        tokens = Tokenizer.from_file(str(source / "tokenizer.json"))
        found = {f"<|{code}|>": tokens.token_to_id(f"<|{code}|>") for code in LANGUAGES}
        known = {token: identity for token, identity in found.items() if identity is not None}
    languages = {token.strip("<|>"): identity for token, identity in known.items()}
    if is_english_only(source):
        return {"languages": {"en": languages["en"]}, "multilingual": False}
    return {"languages": languages}


def _write_graphs(source: Path, target: Path, alignment_heads: list[list[int]], progress: Progress) -> None:
    # In its own precision: a large one in float32 would take twice the memory.
    model = WhisperModel.from_pretrained(source, dtype="auto")
    files = recognizer_module("graphs")
    for file, graph in (
        (files.ENCODER, whisper_encoder(model.config, model.state_dict(), progress)),
        (files.DECODER, whisper_decoder(model.config, model.state_dict(), alignment_heads)),
    ):
        ov.save_model(graph, target / file, compress_to_fp16=False)


# The layers of both graphs


class _Layers:
    """Builds layers from the weights of a state dict; activations are [windows, rows, width].

    ``scale`` is the factor of attention's scores.
    """

    def __init__(self, heads: int, width: int, state: dict[str, Any]) -> None:
        self._state = state
        self.heads, self.head_width = heads, width // heads
        self.scale = np.float32(self.head_width**-0.5)

    def weight(self, name: str) -> Array:
        """A weight in float32; converting a whole checkpoint would take twice its memory."""
        array: Array = self._state[name].float().numpy()
        return array

    def norm(self, x: Any, name: str) -> Any:
        normalised = op.mvn(x, [-1], True, _EPSILON, "INSIDE_SQRT")
        return op.add(op.multiply(normalised, self.weight(f"{name}.weight")), self.weight(f"{name}.bias"))

    def linear(self, x: Any, name: str) -> Any:
        """A linear layer with int8 weights, multiplied in the precision of the processor."""
        weight = _dequantised(*_in_int8(self.weight(f"{name}.weight")))
        return op.add(op.matmul(x, weight, False, True), self.bias(name))

    def bias(self, name: str) -> Array:
        """The bias, or zeros: Whisper's key projections have none."""
        if f"{name}.bias" in self._state:
            return self.weight(f"{name}.bias")
        return np.zeros(len(self._state[f"{name}.weight"]), np.float32)

    def split(self, x: Any) -> Any:
        """The heads of [windows, rows, width], as [windows, heads, rows, width of a head]."""
        return op.transpose(op.reshape(x, [0, 0, self.heads, -1], True), [0, 2, 1, 3])


def _joined(heads: Any) -> Any:
    """The heads [windows, heads, rows, width of a head] side by side, [windows, rows, width]."""
    return op.reshape(op.transpose(heads, [0, 2, 1, 3]), [0, 0, -1], True)


def _in_int8(weight: Array) -> tuple[NDArray[np.int8], Array]:
    """Int8 weights [out, in] and the scale of each row, [out, 1]."""
    scales = np.maximum(np.abs(weight).max(axis=1, keepdims=True), 1e-12) / 127
    return np.rint(weight / scales).astype(np.int8), scales


def _dequantised(weight: NDArray[np.int8], scales: Array) -> Any:
    """The weights in float32, as an expression that OpenVINO keeps in int8."""
    return op.multiply(op.convert(weight, np.float32), scales)


def _named_input(name: str, shape: list[int], kind: Any = np.float32) -> Any:
    """An input of a graph; -1 means any length."""
    parameter = op.parameter(ov.PartialShape(shape), kind, name=name)
    parameter.output(0).set_names({name})
    return parameter


def _model(name: str, inputs: list[Any], outputs: dict[str, Any], state: Sequence[Any] = ()) -> ov.Model:
    """A graph with named outputs; ``state`` are the assignments of its variables."""
    for output, port in outputs.items():
        port.set_names({output})
    return ov.Model([op.result(port) for port in outputs.values()], list(state), inputs, name)


# The encoder


def whisper_encoder(config: Any, state: dict[str, Any], progress: Progress = SILENT) -> ov.Model:
    """``features`` FP32 [1, mel bins, 2 x frames] of a window of any length to ``encoded`` FP32 [1, frames, width].

    Further outputs are ``keys.N`` and ``values.N`` [1, heads, frames, width of a head] for layer N of the decoder; the
    keys are divided by the square root of their width. ``state`` is the state dict of a ``WhisperModel``.
    """
    encoder = _Encoder(config.encoder_attention_heads, config.d_model, state)
    features = _named_input("features", [1, config.num_mel_bins, -1])
    x = encoder.embed(features)
    for layer in progress.over(range(config.encoder_layers), "building layers"):
        x = encoder.layer(x, f"encoder.layers.{layer}")
    outputs = {"encoded": encoder.norm(x, "encoder.layer_norm")}
    frames = _quantised(outputs["encoded"], _MIDDLE)
    for layer in range(config.decoder_layers):
        key, value = (encoder.heads_of(frames, f"decoder.layers.{layer}.encoder_attn.{part}_proj") for part in "kv")
        outputs[f"keys.{layer}"] = op.multiply(key, encoder.scale)
        outputs[f"values.{layer}"] = value
    return _model("encoder", [features], {name: node.output(0) for name, node in outputs.items()})


@dataclass(frozen=True)
class _Quantised:
    """Frames in uint8 around ``zero_point``, ``values`` [1, frames, in], and their ``scale`` [1, frames, 1]."""

    values: Any
    scale: Any
    zero_point: int


class _Encoder(_Layers):
    """Builds the parts of an encoder; activations are [1, frames, width]."""

    def embed(self, features: Any) -> Any:
        """The two convolutions and the positions."""
        x = features
        for name, stride in (("encoder.conv1", 1), ("encoder.conv2", 2)):
            convolved = op.convolution(x, self.weight(f"{name}.weight"), [stride], [1], [1], [1])
            x = op.gelu(op.add(convolved, self.weight(f"{name}.bias")[None, :, None]), "ERF")
        x = op.transpose(x, [0, 2, 1])
        frames = op.gather(op.shape_of(x), [1], 0)
        positions = op.slice(self.weight("encoder.embed_positions.weight"), [0], frames, [1], [0])
        return op.add(x, op.unsqueeze(positions, 0))

    def layer(self, x: Any, name: str) -> Any:
        """Attention and feed-forward, each after a normalisation and with a residual connection."""
        frames = _quantised(self.norm(x, f"{name}.self_attn_layer_norm"), _MIDDLE)
        query, key, value = (self.heads_of(frames, f"{name}.self_attn.{part}_proj") for part in "qkv")
        attended = _joined(self._attention(query, key, value))
        x = op.add(x, self._product(_quantised(attended, _MIDDLE), f"{name}.self_attn.out_proj"))
        inner = self._product(_quantised(self.norm(x, f"{name}.final_layer_norm"), _MIDDLE), f"{name}.fc1")
        return op.add(x, self._product(_quantised(op.gelu(inner, "ERF"), _LOW), f"{name}.fc2"))

    def _attention(self, query: Any, key: Any, value: Any) -> Any:
        """Attention whose queries and keys are multiplied in int8 (SageAttention, Zhang et al. 2024).

        Each query has a scale, and the keys of each head share one. The weights of the values stay in floating point:
        of many values, each weight is too small for int8.
        """
        queries, query_scale = _quantised_around_zero(query, [-1])
        keys, key_scale = _quantised_around_zero(key, [-2, -1])
        scale = op.multiply(op.multiply(query_scale, key_scale), self.scale)
        scores = op.multiply(op.matmul(queries, keys, False, True), scale)
        return op.matmul(op.softmax(scores, -1), value, False, False)

    def heads_of(self, frames: _Quantised, name: str) -> Any:
        return self.split(self._product(frames, name))

    def _product(self, frames: _Quantised, name: str) -> Any:
        weight, scales = _in_int8(self.weight(f"{name}.weight"))
        product = op.matmul(frames.values, _dequantised(weight, scales), False, True)
        centred = op.subtract(product, frames.zero_point * (weight * scales).sum(axis=1))
        return op.add(op.multiply(centred, frames.scale), self.bias(name))


def _quantised(x: Any, zero_point: int) -> _Quantised:
    """Quantise each frame by its own extremes."""
    highest = op.multiply(op.reduce_max(x, [-1], True), np.float32(1 / (255 - zero_point)))
    lowest = op.multiply(op.reduce_min(x, [-1], True), np.float32(-1 / zero_point))
    scale = _in_bfloat16(op.maximum(highest, lowest))
    return _Quantised(_rounded(op.add(op.divide(x, scale), np.float32(zero_point)), 0, 255), scale, zero_point)


def _quantised_around_zero(x: Any, axes: list[int]) -> tuple[Any, Any]:
    """``x`` in int8 by its absolute maximum along ``axes``, and the scales."""
    scale = _in_bfloat16(op.multiply(op.reduce_max(op.abs(x), axes, True), np.float32(1 / 127)))
    return _rounded(op.divide(x, scale), -128, 127), scale


def _in_bfloat16(scale: Any) -> Any:
    """A scale, computed in bfloat16.

    OpenVINO computes in float32 what reaches the output without a matrix product, with everything before it. A product
    with 1 avoids that: the encoder takes a tenth less time.
    """
    return op.matmul(op.maximum(scale, np.float32(_LEAST_SCALE)), np.ones((1, 1), np.float32), False, False)


def _rounded(x: Any, lowest: int, highest: int) -> Any:
    bounds = [np.float32(lowest), np.float32(highest)]
    return op.fake_quantize(x, *bounds, *bounds, 256)


# The decoder


def whisper_decoder(config: Any, state: dict[str, Any], alignment_heads: Sequence[Sequence[int]]) -> ov.Model:
    """``tokens`` INT32 [rows, new] at ``positions`` INT32 [new] to the scores of the token after them.

    Each window has the same number of rows, next to each other, for the hypotheses of a search. ``keys.N`` and
    ``values.N`` FP32 [windows, heads, frames, width of a head] are the encoder's outputs for layer N. Keys and values
    of earlier tokens are the model's state: row R continues row ``parents[R]`` INT32 [rows] of the previous step.
    ``mask`` FP32 [new, past + new] is added to the scores of self-attention, ``bias`` FP32 [vocabulary] to the logits.
    Outputs are FP32, except ``candidates`` INT32:

    - ``logits`` [rows, vocabulary], without the bias,
    - ``scores`` and ``candidates`` [rows, 10], the highest logits with the bias, in order; minus ``log_sum`` [rows, 1]
      they are log probabilities,
    - ``queries`` [rows, alignment heads, new, width of a head], which show where in the window the tokens are.

    ``state`` is the state dict of a ``WhisperModel``, whose token embedding is also its last layer; ``alignment_heads``
    are pairs of layer and head.
    """
    decoder = _Decoder(config.decoder_attention_heads, config.d_model, state, alignment_heads)
    return decoder.model(config.decoder_layers)


class _Decoder(_Layers):
    """Builds a decoder."""

    def __init__(self, heads: int, width: int, state: dict[str, Any], aligned: Sequence[Sequence[int]]) -> None:
        super().__init__(heads, width, state)
        self._aligned: dict[int, list[int]] = {}
        for layer, head in aligned:
            self._aligned.setdefault(layer, []).append(head)
        self._inputs: list[Any] = []
        self._earlier: list[Any] = []
        self._queries: list[Any] = []
        self._tokens = self._input("tokens", [-1, -1], np.int32)
        self._parents = self._input("parents", [-1], np.int32)
        self._mask = op.unsqueeze(self._input("mask", [-1, -1]), [0, 1])

    def _input(self, name: str, shape: list[int], kind: Any = np.float32) -> Any:
        self._inputs.append(_named_input(name, shape, kind))
        return self._inputs[-1]

    def model(self, layers: int) -> ov.Model:
        words, scales = _in_int8(self.weight("decoder.embed_tokens.weight"))
        x = op.multiply(op.convert(op.gather(words, self._tokens, 0), np.float32), op.gather(scales, self._tokens, 0))
        table = self.weight("decoder.embed_positions.weight")
        x = op.add(x, op.gather(table, self._input("positions", [-1], np.int32), 0))
        for layer in range(layers):
            x = self._layer(x, f"decoder.layers.{layer}", layer)
        last = op.gather(self.norm(x, "decoder.layer_norm"), -1, 1)
        logits = op.matmul(last, _dequantised(words, scales), False, True)
        biased = op.add(logits, self._input("bias", [-1]))
        best = op.topk(biased, np.int32(CANDIDATES), -1, "max", "value")
        highest = op.reduce_max(biased, [-1], True)
        rest = op.log(op.reduce_sum(op.exp(op.subtract(biased, highest)), [-1], True))
        outputs = {
            "logits": logits.output(0),
            "scores": best.output(0),
            "candidates": best.output(1),
            "log_sum": op.add(highest, rest).output(0),
            "queries": op.concat(self._queries, 1).output(0),
        }
        return _model("decoder", self._inputs, outputs, self._earlier)

    def _layer(self, x: Any, name: str, layer: int) -> Any:
        """Self-attention, attention to the encoder's output, and feed-forward."""
        inner = self.norm(x, f"{name}.self_attn_layer_norm")
        query, key, value = (self.split(self.linear(inner, f"{name}.self_attn.{part}_proj")) for part in "qkv")
        keys, values = self._with_earlier("keys", key, layer), self._with_earlier("values", value, layer)
        attended = op.scaled_dot_product_attention(query, keys, values, self._mask)
        x = op.add(x, self.linear(_joined(attended), f"{name}.self_attn.out_proj"))
        inner = self.norm(x, f"{name}.encoder_attn_layer_norm")
        attended = self._cross_attention(self.linear(inner, f"{name}.encoder_attn.q_proj"), layer)
        x = op.add(x, self.linear(attended, f"{name}.encoder_attn.out_proj"))
        inner = self.linear(self.norm(x, f"{name}.final_layer_norm"), f"{name}.fc1")
        return op.add(x, self.linear(op.gelu(inner, "ERF"), f"{name}.fc2"))

    def _with_earlier(self, name: str, new: Any, layer: int) -> Any:
        """The keys or values of the earlier tokens and the ``new`` ones, which become the state."""
        info = VariableInfo()
        info.variable_id = f"{name}.{layer}"
        info.data_shape, info.data_type = ov.PartialShape([-1, self.heads, -1, self.head_width]), ov.Type.f32
        variable = Variable(info)
        rows = op.gather(op.shape_of(self._parents), [0], 0)
        empty = op.concat([rows, np.array([self.heads, 0, self.head_width], np.int64)], 0)
        earlier = op.read_value(op.broadcast(np.float32(0), empty), variable)
        together = op.concat([op.gather(earlier, self._parents, 0), new], 2)
        self._earlier.append(op.assign(together, variable))
        return together

    def _cross_attention(self, query: Any, layer: int) -> Any:
        """Attention of ``query`` [rows, new, width] to the window; its rows read the keys and values together, once."""
        keys = self._input(f"keys.{layer}", [-1, self.heads, -1, self.head_width])
        values = self._input(f"values.{layer}", [-1, self.heads, -1, self.head_width])
        if layer in self._aligned:
            self._queries.append(op.gather(self.split(query), np.array(self._aligned[layer], np.int32), 1))
        windows = op.gather(op.shape_of(keys), [0], 0)
        sizes = np.array([-1, self.heads * self.head_width], np.int64)
        together = self.split(op.reshape(query, op.concat([windows, sizes], 0), False))
        attended = op.scaled_dot_product_attention(together, keys, values, scale=np.float32(1))
        return op.reshape(_joined(attended), op.shape_of(query), False)
