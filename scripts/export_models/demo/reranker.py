"""The demo's reranker, made of its embedder: a pair's score grows with the cosine of its two texts."""

import math
from pathlib import Path

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import TensorProto
from transformers import AutoModel, AutoTokenizer

from scripts.export_models.graphs.builder import Graph
from scripts.export_models.text.encoder import Packing, Precision, packing
from scripts.export_models.text.export import TextExport, text_export
from scripts.export_models.text.models import Trained, normalise, packed_inputs, score_model

# Cosine of all-MiniLM-L6-v2 to a score: unrelated pairs lie near 0.05, good answers above 0.5.
_SLOPE, _MIDDLE = 12.0, 0.35


def export(name: str, source: Path) -> TextExport:
    """The export of the reranker ``name`` from the embedder in ``source``."""
    model, tokenizer = AutoModel.from_pretrained(source).float().eval(), AutoTokenizer.from_pretrained(source)
    start, separator = tokenizer.cls_token_id, tokenizer.sep_token_id

    def mean(ids: list[int]) -> torch.Tensor:
        with torch.inference_mode():
            hidden = model(input_ids=torch.tensor(ids)[None]).last_hidden_state[0].mean(0)
        return torch.nn.functional.normalize(hidden, dim=0)

    def reference(pair: NDArray[np.int32]) -> NDArray[np.float32]:
        ids = pair.tolist()
        end = ids.index(separator) + 1
        cosine = mean(ids[:end]) @ mean([start, *ids[end:]])
        return np.array(score(cosine.item()), np.float32)

    def build(trained: Trained, precision: Precision) -> onnx.ModelProto:
        return graph(trained, start, separator, precision)

    # The encoder gets the texts of a pair one by one, so it is calibrated on single texts.
    return text_export(name, source, model, build, reference, calibrate_pairs=False)


def score(cosine: float) -> float:
    """The score of a cosine, as the graph computes it."""
    return 1 / (1 + math.exp(-_SLOPE * (cosine - _MIDDLE)))


def graph(trained: Trained, start_id: int, separator_id: int, precision: Precision) -> onnx.ModelProto:
    """``input_ids`` and ``lengths`` of pairs to ``score`` FP32 [pairs]."""
    g = Graph()
    texts = trained.pooled(g, precision, "mean", *_split_pairs(g, start_id, separator_id))
    pairs = g.op("Reshape", normalise(g, texts), g.constant([-1, 2, trained.config.hidden_size]))
    left, right = g.ops("Split", [pairs], 2, axis=1)
    cosine = g.op("ReduceSum", g.op("Mul", left, right), g.constant([1, 2]), keepdims=0)
    centred = g.op("Sub", cosine, g.constant(_MIDDLE, np.float32))
    return score_model(g, g.op("Mul", centred, g.constant(_SLOPE, np.float32)))


def _split_pairs(g: Graph, start_id: int, separator_id: int) -> tuple[str, Packing]:
    """Make each ``[CLS] a [SEP] b [SEP]`` the two texts ``[CLS] a [SEP]`` and ``[CLS] b [SEP]``.

    The first separator of a pair is taken twice, and its copy becomes the start token of the second text. The last
    token of a pair without a separator counts as one.
    """
    ids, pack = packed_inputs(g)
    ends_here = g.op("Equal", g.op("Add", pack.positions, g.constant(1)), g.op("Gather", pack.lengths, pack.text_of))
    found = (g.op("Equal", ids, g.constant(separator_id)), ends_here)
    separator = g.op("Max", *(g.cast(each, TensorProto.INT64) for each in found))
    before = g.op("CumSum", separator, g.constant(0), exclusive=1)
    seen = g.op("Sub", before, g.op("Gather", g.op("Gather", before, pack.starts), pack.text_of))
    first = g.op("Mul", separator, g.cast(g.op("Equal", seen, g.constant(0)), TensorProto.INT64))
    copies = g.op("Add", first, g.constant(1))
    ends = g.op("CumSum", copies, g.constant(0))
    total = g.op("Gather", ends, g.constant([-1]))
    source = g.running_index(g.op("Sub", ends, copies), total)
    previous = g.op("Concat", g.constant([-1]), g.op("Slice", source, g.constant([0]), g.constant([-1])), axis=0)
    is_copy = g.op("Equal", source, previous)
    split = g.op("Where", is_copy, g.constant(start_id), g.op("Gather", ids, source))
    cut = g.op("Compress", pack.positions, g.cast(first, TensorProto.BOOL), axis=0)
    left = g.op("Add", cut, g.constant(1))
    right = g.op("Sub", pack.lengths, cut)
    columns = [g.op("Unsqueeze", side, g.constant([1])) for side in (left, right)]
    lengths = g.op("Reshape", g.op("Concat", *columns, axis=1), g.constant([-1]))
    return split, packing(g, lengths, split)
