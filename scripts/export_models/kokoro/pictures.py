"""Turns the tensors between convolutions into pictures of height one, [batch, channels, 1, time].

OpenVINO's convolutions in bfloat16 want the channels of a sample next to each other. Its kernels for means and norms
take that form for pictures only; for plain sequences it brings each tensor into another form and back.

Without this pass a sentence takes 16 % more time.
"""

from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from scripts.export_models.onnx_passes import ELEMENTWISE, attributes_of
from scripts.export_models.voices.pictures import Pictures

_CHANNELS, _TIME = 1, 2
_ELEMENTWISE = ELEMENTWISE | {"Pow", "Mod", "Sqrt"}
# What a node's second input says for each dimension, and what it says of the height.
_BY_DIMENSION = {"Pad": 0}


def as_pictures(model: onnx.ModelProto) -> int:
    """Rewrite a model in place; returns how many convolutions it rewrote."""
    rewriting = _Sequences(model.graph)
    rewriting.run()
    return rewriting.count


class _Sequences(Pictures):
    """Also keeps the nodes between convolutions wide: norms, factors for each channel, joins and splits of channels."""

    def fits(self, node: onnx.NodeProto) -> bool:
        tensors, numbers = [name for name in node.input if name in self.wide], node.input[1:]
        if not tensors:
            return False
        if node.op_type in ("Concat", "Split"):
            return attributes_of(node)["axis"] == _CHANNELS and (
                node.op_type == "Split" or len(tensors) == len(node.input)
            )
        if node.op_type == "ReduceMean":
            return self.constants[numbers[0]].tolist() == [_TIME]
        if node.op_type in _BY_DIMENSION:
            return all(name in self.constants for name in numbers if name)
        return node.op_type in _ELEMENTWISE and all(name in self.wide or self._number(name) for name in node.input)

    def keep_wide(self, node: onnx.NodeProto) -> None:
        inputs = [self._widened_number(name, node.op_type) for name in node.input]
        self.add(node, inputs, attributes_of(node))

    def _number(self, name: str) -> bool:
        """Whether a tensor is a single number, or one for each channel."""
        constant = self.constants.get(name)
        return constant is not None and (constant.size == 1 or constant.shape == (1, constant.size, 1))

    def _widened_number(self, name: str, kind: str) -> str:
        if name in self.wide or not name or kind == "Split":
            return self.wide.get(name, name)
        constant = self.constants[name]
        if kind == "ReduceMean":
            return self._constant(f"{name}_for_height", np.array([_TIME, _TIME + 1]))
        if kind in _BY_DIMENSION:
            parts = np.split(constant, constant.size // 3)
            wide = [np.insert(part, _TIME, _BY_DIMENSION[kind]) for part in parts]
            return self._constant(f"{name}_with_height", np.concatenate(wide).astype(constant.dtype))
        return name if constant.size == 1 else self._constant(f"{name}_with_height", constant[..., None])

    def _constant(self, name: str, value: np.ndarray[Any, Any]) -> str:
        if name not in self.constants:
            self.constants[name] = value
            self.graph.initializer.append(numpy_helper.from_array(value, name))
        return name
