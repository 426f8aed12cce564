"""Types and shapes of a graph's tensors."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from scripts.export_models.graphs import builder
from scripts.export_models.graphs.builder import MICROSOFT, Graph, save
from scripts.export_models.graphs.values import Value, values_of, without_weights


def _model(g: Graph, answer: str) -> onnx.ModelProto:
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT16, ["rows", 3])
    return g.model([given], [helper.make_tensor_value_info(answer, TensorProto.FLOAT16, None)])


def test_what_comes_after_an_operator_that_onnx_does_not_know_is_known() -> None:
    g = Graph()
    product = g.op("MatMul", "x", g.weight(np.zeros((3, 5), np.float16), "w"))
    length = g.op("Shape", g.op("Gelu", product, domain=MICROSOFT))
    values = values_of(_model(g, product))
    assert values[product] == Value(TensorProto.FLOAT16, (None, 5))
    assert values[length] == Value(TensorProto.INT64, (2,))


def test_types_that_do_not_fit_together_are_refused() -> None:
    g = Graph()
    product = g.op("MatMul", "x", g.weight(np.zeros((3, 5), np.float32), "w"))
    with pytest.raises(onnx.shape_inference.InferenceError):
        values_of(_model(g, product))


def test_a_model_is_not_changed_by_being_read() -> None:
    g = Graph()
    model = _model(g, g.op("Gelu", "x", domain=MICROSOFT))
    before = model.SerializeToString()
    values_of(model)
    assert model.SerializeToString() == before


def test_tensors_inside_of_a_loop_are_known_too() -> None:
    g, inner = Graph(), []

    def row(body: Graph, index: str) -> str:
        inner.append(body.op("Neg", index))
        return body.cast(body.op("Unsqueeze", inner[0], g.constant([0])), TensorProto.FLOAT)

    answer = g.collect("row", g.constant(2), row)
    assert values_of(_model(g, g.cast(answer, TensorProto.FLOAT16)))[inner[0]].kind == TensorProto.INT64


def test_large_weights_are_left_beside_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builder, "_LARGEST_SINGLE_FILE", 1000)
    g = Graph()
    product = g.op("MatMul", "x", g.weight(np.zeros((3, 2000), np.float32), "w"))
    save(_model(g, product), tmp_path / "model.onnx")
    (weight,) = without_weights(tmp_path / "model.onnx").graph.initializer
    assert list(weight.dims) == [3, 2000]
    assert not weight.raw_data
