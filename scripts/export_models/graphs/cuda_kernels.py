"""Which operators ONNX Runtime computes on CUDA, by the type of what they are given.

From ONNX Runtime's docs/OperatorKernels.md, for the opset of our graphs; the names of classes in the CUDA library of
onnxruntime-gpu 1.31.1 agree. An operator without a kernel is computed on the processor instead, between two copies.
"""

from collections.abc import Mapping, Sequence

import onnx
from onnx import TensorProto

from scripts.export_models.graphs.builder import MICROSOFT
from scripts.export_models.graphs.rewriting import graphs_in
from scripts.export_models.graphs.values import Value

_FLOATS = frozenset({TensorProto.FLOAT, TensorProto.FLOAT16})
_NUMBERS = _FLOATS | {TensorProto.INT32, TensorProto.INT64}
_ANY = _NUMBERS | {TensorProto.BOOL}
KERNELS: Mapping[tuple[str, str], frozenset[int]] = {
    **dict.fromkeys([("", kind) for kind in ("Gemm", "LayerNormalization", "Sigmoid", "Tanh")], _FLOATS),
    **dict.fromkeys(
        [("", kind) for kind in ("Add", "Div", "GreaterOrEqual", "Max", "Mod", "Mul", "ReduceMax", "ReduceSum", "Sub")],
        _NUMBERS,
    ),
    **dict.fromkeys(
        [
            ("", kind)
            for kind in ("Cast", "Compress", "Concat", "ConstantOfShape", "Gather", "Identity", "Loop", "Reshape")
        ],
        _ANY,
    ),
    **dict.fromkeys(
        [("", kind) for kind in ("ScatterElements", "Shape", "Slice", "Split", "Squeeze", "Unsqueeze")], _ANY
    ),
    ("", "CumSum"): _NUMBERS - {TensorProto.FLOAT16},
    ("", "Equal"): _ANY,
    ("", "Pad"): _FLOATS | {TensorProto.BOOL},
    ("", "Range"): _NUMBERS - {TensorProto.FLOAT16},
    ("", "ReduceL2"): _FLOATS | {TensorProto.INT32},
    ("", "ReduceMean"): _FLOATS | {TensorProto.INT32},
    ("", "Where"): _NUMBERS,
    (MICROSOFT, "Gelu"): _FLOATS,
    (MICROSOFT, "PackedMultiHeadAttention"): _FLOATS,
}
# The input whose type chooses the kernel, where it is not the first.
_CHOOSING = {"Where": 1}


def without_kernel(model: onnx.ModelProto, values: Mapping[str, Value]) -> Sequence[str]:
    """A sentence for each node, those inside of loops included, that CUDA would leave to the processor."""
    missing = []
    for graph in graphs_in(model.graph):
        for node in graph.node:
            given = values[(node.input or node.output)[_CHOOSING.get(node.op_type, 0)]].kind
            if given not in KERNELS.get((node.domain, node.op_type), ()):
                missing.append(f"{node.op_type} of {TensorProto.DataType.Name(given)} has no CUDA kernel")
    return missing
