"""A convolution with one output channel as one with 16, each of which gives every 16th sample.

ONNX Runtime's blocked layout computes channels in blocks of 16, and the last layer of a vocoder has one: fifteen of
sixteen products, and as many hyperbolic tangents, would be thrown away. With a stride of 16 each channel of the block
is a phase of the sound.
"""

import numpy as np
import onnx
from numpy.typing import NDArray

from scripts.export_models.graphs.builder import Graph
from scripts.export_models.graphs.rewriting import attributes_of, constants_of, graphs_in, replace_each

_PHASES = 16
_TIME = 3

Array = NDArray[np.float32]


def found(model: onnx.ModelProto) -> int:
    """How many convolutions have one output channel."""
    graphs = [(graph, constants_of(graph)) for graph in graphs_in(model.graph)]
    kernels = [weights.get(n.input[1]) for graph, weights in graphs for n in graph.node if n.op_type == "Conv"]
    return sum(kernel is not None and len(kernel) == 1 for kernel in kernels)


def in_phases(model: onnx.ModelProto) -> int:
    """Rewrite a model over pictures in place, and answer how many of its convolutions had one output channel."""
    return replace_each(model, "Conv", _rewritten)


def _rewritten(node: onnx.NodeProto, weights: dict[str, Array]) -> Graph | None:
    return _phases(node, *(weights[name] for name in node.input[1:])) if _fits(weights, node) else None


def _fits(weights: dict[str, Array], node: onnx.NodeProto) -> bool:
    """One channel of as many samples as come in, and neither a stride nor gaps."""
    outputs, _, height, size = weights[node.input[1]].shape
    attributes = attributes_of(node)
    _, before, _, after = attributes.get("pads", [0] * 4)
    plain = all(number == 1 for name in ("strides", "dilations") for number in attributes.get(name, [1]))
    return outputs == height == attributes.get("group", 1) == 1 and plain and before + after == size - 1


def _phases(node: onnx.NodeProto, kernel: Array, bias: Array | None = None) -> Graph:
    """The nodes in the place of one convolution, with its ``kernel`` [1, in, 1, size]."""
    (output,) = node.output
    g = Graph(prefix=f"{output}_phases_")
    _, channels, _, size = kernel.shape
    shifted = np.zeros((_PHASES, channels, 1, size + _PHASES - 1), np.float32)
    for phase in range(_PHASES):
        shifted[phase, :, :, phase : phase + size] = kernel[0]
    inputs = [node.input[0], g.weight(shifted, "kernel")]
    if bias is not None:
        inputs.append(g.weight(np.repeat(bias, _PHASES), "bias"))
    _, before, _, after = attributes_of(node).get("pads", [0] * 4)
    # Behind the end is as much silence as the last, unfinished block may look at.
    pads = [0, before, 0, after + _PHASES - 1]
    phases = g.op("Conv", *inputs, kernel_shape=[1, shifted.shape[-1]], strides=[1, _PHASES], pads=pads)
    samples = g.op("Reshape", g.op("Transpose", phases, perm=[0, 2, 3, 1]), g.constant([1, 1, 1, -1]))
    length = g.size(node.input[0], _TIME)
    g.op("Slice", samples, g.constant([0]), length, g.constant([_TIME]), output=output)
    return g
