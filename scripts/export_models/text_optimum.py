"""The graph of an encoder that ``optimum`` exports, between two small graphs of ours.

``optimum`` pads: its graph takes token ids [texts, places] and a mask. The first graph makes these of packed texts (the
ids of all texts end to end, and their lengths), and the last one makes a vector or a score of what comes out. So the
whole has the tensors of a packed graph, and Triton runs both alike.
"""

import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import onnx
from onnx import compose, parser
from optimum.exporters.onnx import onnx_export_from_model

from scripts.export_models.text_graph import Pooling

_OPSET = 18
# What ONNX Runtime and OpenVINO read.
_IR_VERSION = 8
_HEAD = f'<ir_version: {_IR_VERSION}, opset_import: ["" : {_OPSET}]>'
# The inputs of encoders, by the outputs of this graph. Of a pair, the tokens after the first separator are the second
# text; a text alone is all first.
_UNPACK = (
    _HEAD
    + """
unpack (int32[tokens] input_ids, int32[texts] lengths)
    => (int64[texts, places] ids, int64[texts, places] mask, int64[texts, places] types) {
  zero = Constant <value = int32 {0}> ()
  one = Constant <value = int32 {1}> ()
  along = Constant <value = int64[1] {1}> ()
  longest = ReduceMax <keepdims = 0> (lengths)
  places = Range (zero, longest, one)
  ends = Unsqueeze (lengths, along)
  is_token = Less (places, ends)
  mask = Cast <to = 7> (is_token)
  tokens_at = NonZero (is_token)
  indices = Transpose <perm = [1, 0]> (tokens_at)
  shape = Shape (is_token)
  pad = Constant <value = int32 {PAD}> ()
  padding = Expand (pad, shape)
  padded = ScatterND (padding, indices, input_ids)
  ids = Cast <to = 7> (padded)
  separator = Constant <value = int32 {SEPARATOR}> ()
  is_separator = Equal (padded, separator)
  separators = Cast <to = 7> (is_separator)
  earlier = CumSum <exclusive = 1> (separators, along)
  none = Constant <value = int64 {0}> ()
  is_second = Greater (earlier, none)
  seconds = Cast <to = 7> (is_second)
  types = Mul (seconds, mask)
}
"""
)
_MEAN = """
  weights = Cast <to = 1> (read)
  last = Constant <value = int64[1] {2}> ()
  column = Unsqueeze (weights, last)
  weighted = Mul (hidden, column)
  sums = ReduceSum <keepdims = 0> (weighted, features)
  counts = ReduceSum <keepdims = 1> (weights, features)
  pooled = Div (sums, counts)
"""
_FIRST = """
  first = Constant <value = int64 {0}> ()
  pooled = Gather <axis = 1> (hidden, first)
"""
_POOL = (
    _HEAD
    + """
pool (float[texts, places, width] hidden, int64[texts, places] read) => (float[texts, width] embedding) {
  features = Constant <value = int64[1] {1}> ()
  POOLED
  norms = ReduceL2 <keepdims = 1> (pooled, features)
  least = Constant <value = float {1e-12}> ()
  divisors = Max (norms, least)
  embedding = Div (pooled, divisors)
}
"""
)
_SCORE = (
    _HEAD
    + """
score (float[texts, labels] logits) => (float[texts] score) {
  scores = Sigmoid (logits)
  label = Constant <value = int64 {0}> ()
  score = Gather <axis = 1> (scores, label)
}
"""
)
_GIVEN = {"input_ids": "ids", "attention_mask": "mask", "token_type_ids": "types"}
# A token that no text has.
_NO_TOKEN = -1


def embedder(model: Any, pooling: Pooling) -> onnx.ModelProto:
    """The graph of an encoder of ``transformers``.

    ``input_ids`` INT32 [tokens] and ``lengths`` INT32 [texts] give ``embedding`` FP32 [texts, width], each of length 1.
    """
    last = parser.parse_model(_POOL.replace("POOLED", _MEAN if pooling == "mean" else _FIRST))
    handed = [("encoder/last_hidden_state", "hidden"), ("mask", "read")]
    return compose.merge_models(_encoder(model, "feature-extraction", _NO_TOKEN), last, handed)


def scorer(model: Any, separator: int) -> onnx.ModelProto:
    """The same of a classifier with one label, to ``score`` FP32 [texts], 0 to 1.

    The token ``separator`` ends the first text of a pair.
    """
    graph = _encoder(model, "text-classification", separator)
    handed = [("encoder/logits", "logits")]
    return compose.merge_models(graph, parser.parse_model(_SCORE), handed, outputs=["score"])


def _encoder(model: Any, task: str, separator: int) -> onnx.ModelProto:
    """The encoder behind the graph that unpacks texts; it hands on the mask too."""
    encoder = compose.add_prefix(_exported(model, task), "encoder/")
    pad = str(model.config.pad_token_id or 0)
    unpack = parser.parse_model(_UNPACK.replace("PAD", pad).replace("SEPARATOR", str(separator)))
    inputs = [each.name for each in encoder.graph.input]
    handed = [(_GIVEN[name.removeprefix("encoder/")], name) for name in inputs]
    return compose.merge_models(unpack, encoder, handed, outputs=[encoder.graph.output[0].name, "mask"])


def _exported(model: Any, task: str) -> onnx.ModelProto:
    """What ``optimum`` writes for a task, with its weights in memory."""
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        # optimum exports by TorchScript, which torch calls old.
        warnings.simplefilter("ignore")
        onnx_export_from_model(model, Path(folder), task=task, opset=_OPSET, do_validation=False)
        graph = onnx.load(Path(folder) / "model.onnx")
    graph.ir_version = _IR_VERSION
    return graph
