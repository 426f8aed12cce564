"""Small graphs for CUDA, and faults that are put into them."""

from typing import Any

import numpy as np
import onnx
from onnx import helper

from scripts.export_models.graphs.builder import Graph
from scripts.export_models.graphs.packed_attention import KIND
from scripts.export_models.graphs.rewriting import replace_nodes
from scripts.export_models.text import models
from tests.unit.export_models.text.small import xlmr


def embedder(model: object = None) -> onnx.ModelProto:
    """The look-alike's embedder in fp16: 64 numbers, 4 heads."""
    return models.embedder(models.checkpoint_of(model or xlmr()), "fp16", "cls")


def attentions(model: onnx.ModelProto) -> list[onnx.NodeProto]:
    return [node for node in model.graph.node if node.op_type == KIND]


def with_heads(model: onnx.ModelProto, count: int) -> onnx.ModelProto:
    for node in attentions(model):
        del node.attribute[:]
        node.attribute.append(helper.make_attribute("num_heads", count))
    return model


def given_instead(
    model: onnx.ModelProto, place: int, kind: str, *constants: object, **attributes: Any
) -> onnx.ModelProto:
    """Attention is given ``kind`` of what it was given at ``place``."""
    g = Graph(prefix="fault_")
    before = attentions(model)[0].input[place]
    changed = g.op(kind, before, *(g.weight(np.asarray(each), "c") for each in constants), **attributes)
    for node in attentions(model):
        node.input[place] = changed
    nodes = list(model.graph.node)
    first = next(at for at, node in enumerate(nodes) if node.op_type == KIND)
    replace_nodes(model.graph, [*nodes[:first], *g.nodes, *nodes[first:]])
    model.graph.initializer.extend(g.weights)
    return model
