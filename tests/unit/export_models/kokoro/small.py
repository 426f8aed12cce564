"""Small graphs, run before and after they are rewritten."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Array = NDArray[Any]
node = helper.make_node


def model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Mapping[str, Sequence[int | str]],
    outputs: Sequence[str],
    weights: Mapping[str, Any],
) -> onnx.ModelProto:
    """A graph of FP32 inputs; ``weights`` without a type of their own are FP32."""
    values = {name: np.asarray(value) for name, value in weights.items()}
    graph = helper.make_graph(
        list(nodes),
        "test",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        [numpy_helper.from_array(_single(value), name) for name, value in values.items()],
    )
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def run(given: onnx.ModelProto, **inputs: Array) -> list[Array]:
    session = ort.InferenceSession(given.SerializeToString(), providers=["CPUExecutionProvider"])
    answers: list[Array] = session.run(None, {name: value.astype(np.float32) for name, value in inputs.items()})
    return answers


def kinds(given: onnx.ModelProto) -> list[str]:
    return [each.op_type for each in given.graph.node]


def random(*shape: int, seed: int = 1) -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def _single(value: Array) -> Array:
    return value.astype(np.float32) if value.dtype == np.float64 else value
