"""Computes a periodic activation, ``x + sin(a x)^2 / a``, as one chain of squares, without a sine.

OpenVINO's sine is a plain loop, and it writes out every tensor that two nodes read, such as the square in a polynomial.
So a cosine is approximated here over a sixteenth of its period by one square of a square, and doubled four times by
``cos 2x = 2 cos^2 x - 1``: each step reads only the step before, and OpenVINO computes the chain in one pass.

The factor ``a`` goes into the scales and shifts of the norm before. Without this pass a sentence takes 70 % more time.
"""

import numpy as np
import onnx
from numpy.polynomial import Chebyshev, Polynomial

from scripts.export_models.kokoro.editing import Editing
from scripts.export_models.onnx_graph import Graph

# How often the cosine is doubled.
_DOUBLINGS = 4
# The least factor of a channel. One channel has a smaller one, so it has almost no wave; divided by that factor, the
# errors of the cosine would be louder than the wave.
_LEAST = 1e-3


def cosine(g: Graph, turns: str, doublings: int = _DOUBLINGS) -> str:
    """Twice the cosine of ``turns`` whole turns, FP32, with an error below 3e-4; ``doublings`` fewer give its roots."""
    least, factor, shift = _coefficients()
    part = g.op("Pow", g.op("Mod", turns, g.constant(1, np.float32), fmod=1), g.constant(2, np.float32))
    moved = g.op("Add", g.op("Mul", part, g.constant(factor, np.float32)), g.constant(shift, np.float32))
    result = g.op("Add", g.op("Pow", moved, g.constant(2, np.float32)), g.constant(least, np.float32))
    for _ in range(doublings):
        result = g.op("Add", g.op("Pow", result, g.constant(2, np.float32)), g.constant(-2, np.float32))
    return result


def _coefficients() -> tuple[float, float, float]:
    """The ``l``, ``f`` and ``s`` of ``l + (f t^2 + s)^2``, twice the cosine of a sixteenth of ``t`` turns."""
    squares = (np.cos(np.linspace(0, np.pi, 2001)) + 1) / 2
    wanted = 2 * np.cos(2 * np.pi / 2**_DOUBLINGS * np.sqrt(squares))
    last, middle, first = Chebyshev.fit(squares, wanted, 2, domain=[0, 1]).convert(kind=Polynomial).coef
    factor = np.sqrt(first)
    shift = middle / (2 * factor)
    return last - shift**2, factor, shift


def activations(model: onnx.ModelProto) -> int:
    """Rewrite the activations of a model in place; returns how many."""
    editing = Editing(model.graph)
    count = sum(_rewrite(editing, node) for node in model.graph.node if node.op_type == "Sin")
    editing.finish()
    return count


def found(model: onnx.ModelProto) -> int:
    """The number of activations: sines that are squared."""
    editing = Editing(model.graph)
    return sum(node.op_type == "Sin" and editing.reader(node.output[0], "Pow") is not None for node in model.graph.node)


def _rewrite(editing: Editing, sine: onnx.NodeProto) -> bool:
    """Mul, Sin, Pow, Mul and Add behind a norm's Mul and Add."""
    multiply, power = editing.maker(sine.input[0], "Mul"), editing.reader(sine.output[0], "Pow")
    given = editing.parted(multiply) if multiply is not None else None
    divide = editing.reader(power.output[0], "Mul") if power is not None else None
    total = editing.reader(divide.output[0], "Add") if divide is not None else None
    norm = _norm(editing, given[0]) if given is not None else None
    if given is None or total is None or norm is None:
        return False
    factors = np.where(np.abs(given[1]) < _LEAST, np.copysign(np.float32(_LEAST), given[1]), given[1]) / np.pi
    g = Graph(prefix=f"{total.output[0]}_")
    per_channel = g.weight(factors.astype(np.float32), "factors")
    normed, scale, shift = norm
    scaled = g.op("Mul", normed, g.op("Mul", scale, per_channel))
    waves = g.op("Add", scaled, g.op("Mul", shift, per_channel))
    root = g.op("Pow", cosine(g, waves, _DOUBLINGS - 1), g.constant(2, np.float32))
    fallen = g.op("Mul", root, g.constant(-1 / (4 * np.pi), np.float32))
    total_waves = g.op("Add", g.op("Add", fallen, g.constant(1 / np.pi, np.float32)), waves)
    g.op("Mul", total_waves, g.weight((1 / factors).astype(np.float32), "inverse"), output=total.output[0])
    editing.replace(total, g)
    return True


def _norm(editing: Editing, name: str) -> tuple[str, str, str] | None:
    """What a norm scales and shifts, its scales, and its shifts."""
    shifted = editing.maker(name, "Add")
    shift = [each for each in shifted.input if editing.maker(each, "Split")] if shifted is not None else []
    scaled = [editing.maker(each, "Mul") for each in shifted.input] if shifted is not None else []
    product = next((each for each in scaled if each is not None), None)
    scale = [each for each in product.input if editing.maker(each, "Split")] if product is not None else []
    if len(shift) != 1 or len(scale) != 1 or product is None:
        return None
    (normed,) = (each for each in product.input if each != scale[0])
    return normed, scale[0], shift[0]
