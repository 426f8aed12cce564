"""Small graphs over pictures of height one, run before and after they are rewritten."""

import numpy as np
import onnx
import onnxruntime as ort
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

_CHANNELS = 16


def model(nodes: list[onnx.NodeProto], weights: dict[str, tuple[int, ...]], outputs: list[str]) -> onnx.ModelProto:
    """``x`` [1, 16, 1, time] in; weights are random, those without a shape are 3."""
    rng = np.random.default_rng(1)
    values = {
        name: (rng.normal(size=shape) / 8 if shape else np.array(3.0)).astype(np.float32)
        for name, shape in weights.items()
    }
    graph = helper.make_graph(
        nodes,
        "test",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, _CHANNELS, 1, None])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None] * 4) for name in outputs],
        [numpy_helper.from_array(value, name) for name, value in values.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def run(given: onnx.ModelProto, length: int) -> list[NDArray[np.float32]]:
    onnx.checker.check_model(given)
    session = ort.InferenceSession(given.SerializeToString(), providers=["CPUExecutionProvider"])
    x = np.random.default_rng(2).normal(size=(1, _CHANNELS, 1, length)).astype(np.float32)
    answers: list[NDArray[np.float32]] = session.run(None, {"x": x})
    return answers


def same(one: list[NDArray[np.float32]], other: list[NDArray[np.float32]]) -> bool:
    return all(a.shape == b.shape and np.allclose(a, b, atol=1e-5) for a, b in zip(one, other, strict=True))
