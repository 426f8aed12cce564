"""A graph with two adaptive norms as the published one makes them, the second with an activation."""

import numpy as np
import onnx

from tests.unit.export_models.kokoro.small import model, node, random

CHANNELS = 4


def normed(factors: tuple[float, ...] = (0.5, 1.0, -1.5, 2.0)) -> onnx.ModelProto:
    """``x`` [1, 4, n] and ``style`` [1, 3]; ``y`` is the norm of ``x``, ``z`` is the activated one of ``y``."""
    nodes = [*_norm("x", "y"), *_norm("y", "z_norm")]
    nodes += [
        node("Mul", ["factor", "z_norm"], ["angle"]),
        node("Sin", ["angle"], ["sine"]),
        node("Pow", ["sine", "two"], ["square"]),
        node("Mul", ["inverse", "square"], ["wave"]),
        node("Add", ["z_norm", "wave"], ["z"]),
    ]
    factor = np.array(factors, np.float32).reshape(1, CHANNELS, 1)
    weights = {"factor": factor, "inverse": 1 / factor, "two": np.float32(2), "one": np.float32(1)}
    weights |= {"axis": np.array([2]), "sizes": np.array([CHANNELS] * 2)}
    for at, name in enumerate(("y", "z_norm")):
        weights |= {f"{name}_w": random(3, 2 * CHANNELS, seed=at), f"{name}_b": random(2 * CHANNELS, seed=at + 2)}
    return model(nodes, {"x": [1, CHANNELS, "n"], "style": [1, 3]}, ["y", "z"], weights)


def _norm(x: str, y: str) -> list[onnx.NodeProto]:
    return [
        node("MatMul", ["style", f"{y}_w"], [f"{y}_product"]),
        node("Add", [f"{y}_product", f"{y}_b"], [f"{y}_row"]),
        node("Unsqueeze", [f"{y}_row", "axis"], [f"{y}_column"]),
        node("Split", [f"{y}_column", "sizes"], [f"{y}_grown", f"{y}_shift"], axis=1),
        node("Add", [f"{y}_grown", "one"], [f"{y}_scale"]),
        node("Mul", [f"{y}_scale", x], [f"{y}_scaled"]),
        node("Add", [f"{y}_scaled", f"{y}_shift"], [y]),
    ]
