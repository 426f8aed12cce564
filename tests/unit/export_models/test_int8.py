import numpy as np
import onnx
import onnxruntime as ort
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from scripts.export_models.graph import Graph
from scripts.export_models.int8 import if_exact, int8_is_fast


def _guarded() -> onnx.ModelProto:
    g = Graph()
    g.op("Identity", if_exact(g, "x"), output="y")
    tensors = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "xy"]
    return g.model(tensors[:1], tensors[1:])


def _run(model: onnx.ModelProto) -> NDArray[np.float32]:
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    answer: NDArray[np.float32] = session.run(None, {"x": np.array([1, -2], np.float32)})[0]
    return answer


@pytest.mark.skipif(not int8_is_fast(), reason="this processor's sums of products are not exact")
def test_where_sums_are_exact_numbers_pass() -> None:
    assert _run(_guarded()).tolist() == [1, -2]


def test_where_sums_saturate_there_are_no_numbers() -> None:
    model = _guarded()
    rows = next(tensor for tensor in model.graph.initializer if tensor.data_type == TensorProto.UINT8)
    # A sum that is too small, as one that saturated is.
    fewer = numpy_helper.to_array(rows) - np.uint8(1)
    rows.CopyFrom(numpy_helper.from_array(fewer, rows.name))
    assert np.isnan(_run(model)).all()
