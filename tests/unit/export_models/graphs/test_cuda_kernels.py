"""What CUDA computes of a graph, and what it would leave to the processor."""

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper
from transformers import BertConfig, BertModel, XLMRobertaConfig, XLMRobertaForSequenceClassification

from scripts.export_models.graphs.builder import Graph
from scripts.export_models.graphs.cuda_kernels import KERNELS, without_kernel
from scripts.export_models.graphs.rewriting import graphs_in
from scripts.export_models.graphs.values import values_of
from scripts.export_models.text import models
from tests.unit.export_models.text.small import SIZES, xlmr


@pytest.fixture(scope="module")
def graphs() -> list[onnx.ModelProto]:
    """Every kind of text model in fp16."""
    torch.manual_seed(0)
    head = XLMRobertaForSequenceClassification(XLMRobertaConfig(**SIZES, num_labels=1)).eval()
    bert = models.checkpoint_of(BertModel(BertConfig(**SIZES)).eval())
    return [
        models.embedder(models.checkpoint_of(xlmr()), "fp16", "cls"),
        models.embedder(bert, "fp16", "mean", 128),
        models.reranker(models.checkpoint_of(head), "fp16"),
        models.demo_reranker(bert, 0, 2, "fp16"),
    ]


def test_every_operator_of_our_graphs_has_a_kernel(graphs: list[onnx.ModelProto]) -> None:
    assert [without_kernel(graph, values_of(graph)) for graph in graphs] == [[], [], [], []]


def test_no_other_operators_are_listed(graphs: list[onnx.ModelProto]) -> None:
    used = {(n.domain, n.op_type) for model in graphs for graph in graphs_in(model.graph) for n in graph.node}
    assert used == set(KERNELS)


def _of(kind: str, element: int) -> onnx.ModelProto:
    g = Graph()
    answer = g.op(kind, "x", *([g.constant(0)] if kind == "CumSum" else []))
    tensors = [helper.make_tensor_value_info(name, element, None) for name in ("x", answer)]
    return g.model(tensors[:1], tensors[1:])


@pytest.mark.parametrize(
    ("kind", "element", "reason"),
    [
        ("CumSum", TensorProto.FLOAT16, "CumSum of FLOAT16 has no CUDA kernel"),
        ("Tanh", TensorProto.DOUBLE, "Tanh of DOUBLE has no CUDA kernel"),
        ("SplitToSequence", TensorProto.FLOAT, "SplitToSequence of FLOAT has no CUDA kernel"),
    ],
)
def test_an_operator_without_a_kernel_is_named_with_its_type(kind: str, element: int, reason: str) -> None:
    model = _of("Identity" if kind == "SplitToSequence" else kind, element)
    values = values_of(model)
    model.graph.node[0].op_type = kind
    assert without_kernel(model, values) == [reason]


def test_a_loop_is_looked_into() -> None:
    g = Graph()
    rows = g.collect("row", g.constant(2), lambda body, _: body.op("Erf", body.constant([1], np.float32)))
    model = g.model([], [helper.make_tensor_value_info(rows, TensorProto.FLOAT, None)])
    assert "Erf of FLOAT has no CUDA kernel" in without_kernel(model, values_of(model))
