"""Layers of Whisper's encoder and decoder for OpenVINO."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import openvino as ov
from numpy.typing import NDArray
from openvino import opset15 as op

_EPSILON = 1e-5

Array = NDArray[np.float32]


class Layers:
    """Builds layers from the weights of a state dict; activations are [windows, rows, width].

    ``scale`` is the factor of attention's scores.
    """

    def __init__(self, heads: int, width: int, state: dict[str, Any]) -> None:
        self._state = state
        self.heads, self.head_width = heads, width // heads
        self.scale = np.float32(self.head_width**-0.5)

    def weight(self, name: str) -> Array:
        """A weight in float32; converting a whole checkpoint would take twice its memory."""
        array: Array = self._state[name].float().numpy()
        return array

    def norm(self, x: Any, name: str) -> Any:
        normalised = op.mvn(x, [-1], True, _EPSILON, "INSIDE_SQRT")
        return op.add(op.multiply(normalised, self.weight(f"{name}.weight")), self.weight(f"{name}.bias"))

    def linear(self, x: Any, name: str) -> Any:
        """A linear layer with int8 weights, multiplied in the precision of the processor."""
        weight = dequantised(*in_int8(self.weight(f"{name}.weight")))
        return op.add(op.matmul(x, weight, False, True), self.bias(name))

    def bias(self, name: str) -> Array:
        """The bias, or zeros: Whisper's key projections have none."""
        if f"{name}.bias" in self._state:
            return self.weight(f"{name}.bias")
        return np.zeros(len(self._state[f"{name}.weight"]), np.float32)

    def split(self, x: Any) -> Any:
        """The heads of [windows, rows, width], as [windows, heads, rows, width of a head]."""
        return op.transpose(op.reshape(x, [0, 0, self.heads, -1], True), [0, 2, 1, 3])


def joined(heads: Any) -> Any:
    """The heads [windows, heads, rows, width of a head] side by side, [windows, rows, width]."""
    return op.reshape(op.transpose(heads, [0, 2, 1, 3]), [0, 0, -1], True)


def in_int8(weight: Array) -> tuple[NDArray[np.int8], Array]:
    """Int8 weights [out, in] and the scale of each row, [out, 1]."""
    scales = np.maximum(np.abs(weight).max(axis=1, keepdims=True), 1e-12) / 127
    return np.rint(weight / scales).astype(np.int8), scales


def dequantised(weight: NDArray[np.int8], scales: Array) -> Any:
    """The weights in float32, as an expression that OpenVINO keeps in int8."""
    return op.multiply(op.convert(weight, np.float32), scales)


def named_input(name: str, shape: list[int], kind: Any = np.float32) -> Any:
    """An input of a graph; -1 means any length."""
    parameter = op.parameter(ov.PartialShape(shape), kind, name=name)
    parameter.output(0).set_names({name})
    return parameter


def model(name: str, inputs: list[Any], outputs: dict[str, Any], state: Sequence[Any] = ()) -> ov.Model:
    """A graph with named outputs; ``state`` are the assignments of its variables."""
    for output, port in outputs.items():
        port.set_names({output})
    return ov.Model([op.result(port) for port in outputs.values()], list(state), inputs, name)
