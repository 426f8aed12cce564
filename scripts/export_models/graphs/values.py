"""What type and shape each tensor of a finished graph has, found without its weights."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import onnx
from onnx import helper, shape_inference

from scripts.export_models.graphs.rewriting import graphs_in


@dataclass(frozen=True)
class Value:
    """A tensor: ``kind`` is onnx's number of its element type, ``shape`` has None where a length is not known."""

    kind: int
    shape: tuple[int | None, ...]


def without_weights(path: Path) -> onnx.ModelProto:
    """The model in a file; large weights, which lie beside it, stay there."""
    return onnx.load(str(path), load_external_data=False)


def values_of(model: onnx.ModelProto) -> Mapping[str, Value]:
    """Every tensor by its name, those inside of loops included.

    onnx knows its own operators alone. All others in these graphs (attention, Gelu) give what their first input has:
    ``Identity`` stands in for them. Raises onnx's ``InferenceError`` where types do not fit together.
    """
    known = onnx.ModelProto()
    known.CopyFrom(model)
    for graph in graphs_in(known.graph):
        for node in graph.node:
            if node.domain:
                node.CopyFrom(helper.make_node("Identity", node.input[:1], node.output[:1]))
    inferred = shape_inference.infer_shapes(known, check_type=True, strict_mode=True)
    found: dict[str, Value] = {}
    for graph in graphs_in(inferred.graph):
        for info in (*graph.input, *graph.output, *graph.value_info):
            kind = info.type.tensor_type
            lengths = (length.dim_value if length.HasField("dim_value") else None for length in kind.shape.dim)
            found[info.name] = Value(kind.elem_type, tuple(lengths))
        for weight in graph.initializer:
            found[weight.name] = Value(weight.data_type, tuple(weight.dims))
    return found
