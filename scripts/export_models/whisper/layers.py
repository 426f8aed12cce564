"""What Whisper's encoder and decoder are made of, for OpenVINO."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from openvino import opset15 as op

_EPSILON = 1e-5

Array = NDArray[np.float32]


class Layers:
    """Builds layers by the names that a state dict gives their weights; activations are [windows, rows, width]."""

    def __init__(self, heads: int, state: dict[str, Any]) -> None:
        self.weights: dict[str, Array] = {name: value.float().numpy() for name, value in state.items()}
        self._heads = heads

    def norm(self, x: Any, name: str) -> Any:
        even = op.mvn(x, [-1], True, _EPSILON, "INSIDE_SQRT")
        return op.add(op.multiply(even, self.weights[f"{name}.weight"]), self.weights[f"{name}.bias"])

    def linear(self, x: Any, name: str) -> Any:
        """A linear layer whose weights are kept in int8, and multiplied as what the processor computes in."""
        weight = self.weights[f"{name}.weight"]
        return op.add(op.matmul(x, scaled(*in_int8(weight)), False, True), self.bias(name))

    def bias(self, name: str) -> Array:
        """Zeros where there is none, as in Whisper's key projections."""
        return self.weights.get(f"{name}.bias", np.zeros(len(self.weights[f"{name}.weight"]), np.float32))

    def attention_scale(self, width: int) -> np.float32:
        """What queries or keys are multiplied by."""
        return np.float32((width // self._heads) ** -0.5)

    def split(self, x: Any) -> Any:
        """The part of each head, [windows, heads, rows, width of a head]."""
        return op.transpose(op.reshape(x, [0, 0, self._heads, -1], True), [0, 2, 1, 3])


def joined(heads: Any) -> Any:
    """What heads gave [windows, heads, rows, width of a head] side by side, [windows, rows, width]."""
    return op.reshape(op.transpose(heads, [0, 2, 1, 3]), [0, 0, -1], True)


def in_int8(weight: Array) -> tuple[NDArray[np.int8], Array]:
    """Weights [out, in] in steps of each row's own, and the steps [out, 1]."""
    steps = np.maximum(np.abs(weight).max(axis=1, keepdims=True), 1e-12) / 127
    return np.rint(weight / steps).astype(np.int8), steps


def scaled(kept: NDArray[np.int8], steps: Array) -> Any:
    """Weights as a graph keeps them."""
    return op.multiply(op.convert(kept, np.float32), steps)
