"""The passes over Kokoro's published graph, in order; the sound stays the same but for rounding.

All together, on two cores with VNNI and bfloat16, a sentence takes a third of the time of the published graph in ONNX
Runtime: 0.8 s for 104 phonemes, which are 6.7 s of sound. ``source.py`` has the pass that rebuilds the source of it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

from scripts.export_models.kokoro.source import DOUBLINGS, cosine, rebuilt
from scripts.export_models.onnx_graph import LARGEST, Array, Graph, Linear
from scripts.export_models.onnx_passes import CONVOLUTIONS, ELEMENTWISE, Editing, Pass, attributes_of, nodes
from scripts.export_models.progress import SILENT, Progress
from scripts.export_models.voice_passes import Nchw

KINDS = frozenset({"ConvInteger", "MatMulInteger", "DynamicQuantizeLSTM"})
_PLAIN = {"ConvInteger": "Conv", "MatMulInteger": "MatMul"}
# Inputs of DynamicQuantizeLSTM: the weights and recurrent weights with their scales and zero points.
_INPUT_WEIGHTS, _RECURRENT_WEIGHTS = (1, 8, 9), (2, 10, 11)
# The least factor of a channel. One channel has a smaller one, so it has almost no wave; divided by that factor, the
# errors of the cosine would be louder than the wave.
_LEAST = 1e-3
_DOUBLED = [1, 1, 2]
_CHANNELS, _TIME = 1, 2
_ELEMENTWISE = ELEMENTWISE | {"Pow", "Mod", "Sqrt"}
# What a node's second input says for each dimension, and what it says of the height.
_OF_HEIGHT = {"Pad": 0}
_LAYER = re.compile(r"/generator/(noise_res|resblocks)\.(\d)/convs([12])\.(\d)/")
# The ranges of what the convolutions of a block read: three of its first kind, three of its second.
_RANGES = {
    ("noise_res", 0): (17.9, 18.6, 10.9, 3.2, 3.2, 3.2),
    ("noise_res", 1): (17.4, 11.2, 9.9, 3.3, 2.1, 1.9),
    ("resblocks", 0): (7.6, 7.1, 7.5, 8.2, 9.1, 15.1),
    ("resblocks", 1): (10.3, 10.8, 13.2, 8.1, 12.4, 28.9),
    ("resblocks", 2): (8.8, 8.8, 9.1, 7.3, 7.8, 18.5),
    ("resblocks", 3): (15.1, 12.3, 11.8, 10.2, 9.0, 13.3),
    ("resblocks", 4): (31.7, 13.4, 14.3, 10.9, 12.4, 14.7),
    ("resblocks", 5): (33.4, 13.3, 13.1, 9.5, 9.5, 12.5),
}


def rewrite(model: onnx.ModelProto, progress: Progress = SILENT, *, int8: bool = True) -> None:
    """Run all passes over the published graph in place, the last one for ``int8`` alone.

    Raises ``SourceError`` for another graph.
    """
    for each in progress.over(PASSES if int8 else PASSES[:-1], "rewriting"):
        each.run(model)


# Plain layers


def plain(model: onnx.ModelProto) -> int:
    """Turn the published graph's integers back into plain layers with weights in floating point; returns how many.

    The published file quantises each activation at run time, by its extremes, before every product. OpenVINO has
    kernels for constant scales only, so it computes these products slowly. Plain ones take bfloat16's kernels.

    A weight that several layers share stays one: the twelve layers of ALBERT have one set. Copied for each they made
    the float graph 535 MB, and shared 325 MB.
    """
    rewriting = _Plain(model.graph)
    count = sum(rewriting.rewrite(node) for node in model.graph.node if node.op_type in KINDS)
    rewriting.finish()
    return count


class _Plain(Editing):
    """Rewrites the integer layers of one graph."""

    def __init__(self, graph: onnx.GraphProto) -> None:
        super().__init__(graph)
        self._made: set[str] = set()

    def rewrite(self, node: onnx.NodeProto) -> bool:
        return self._lstm(node) if node.op_type == "DynamicQuantizeLSTM" else self._product(node)

    def _product(self, node: onnx.NodeProto) -> bool:
        """DynamicQuantizeLinear, the product, [Add,] Cast and Mul become one layer that makes the Mul's output."""
        quantise = self.maker(node.input[0], "DynamicQuantizeLinear")
        follower, bias = self.reader(node.output[0], "Add", "Cast"), ""
        if follower is not None and follower.op_type == "Add":
            (other,) = (name for name in follower.input if name != node.output[0])
            bias = self._bias(other)
            follower = self.reader(follower.output[0], "Cast") if bias else None
        multiply = self.reader(follower.output[0], "Mul") if follower is not None else None
        if quantise is None or follower is None or multiply is None:
            return False
        (product_scale,) = (name for name in multiply.input if name != follower.output[0])
        scales = self.maker(product_scale, "Mul")
        scale = [name for name in scales.input if name in self.constants] if scales is not None else []
        if len(scale) != 1:
            return False
        weight = self._float(node.input[1], scale[0], node.input[3] if len(node.input) > 3 else "", _spread(node))
        g = Graph(prefix=f"{multiply.output[0]}_")
        inputs = [quantise.input[0], weight, *([bias] if bias else [])]
        g.op(_PLAIN[node.op_type], *inputs, output=multiply.output[0], **attributes_of(node))
        self.replace(multiply, g)
        return True

    def _bias(self, name: str) -> str:
        """The bias that is quantised with the activation's scale: Reshape(Cast(Floor(Div(bias, scale))))."""
        nodes = self.behind(name, "Reshape", "Cast", "Floor", "Div")
        return nodes[-1].input[0] if nodes and nodes[-1].input[0] in self.constants else ""

    def _lstm(self, node: onnx.NodeProto) -> bool:
        names = []
        for weight, scale, zero in (_INPUT_WEIGHTS, _RECURRENT_WEIGHTS):
            names.append(self._float(node.input[weight], node.input[scale], node.input[zero], (-1, 1, 1), (0, 2, 1)))
        g = Graph(prefix=f"{node.output[0]}_")
        lstm = onnx.helper.make_node(
            "LSTM", [node.input[0], *names, *node.input[3:8]], node.output, node.name, **attributes_of(node)
        )
        g.nodes.append(lstm)
        self.replace(node, g)
        return True

    def _float(self, weight: str, scale: str, zero: str, spread: Sequence[int], order: Sequence[int] = ()) -> str:
        """The name of the float form of an integer weight; the scales lie along the axis that ``spread`` leaves."""
        name = f"{weight}_float"
        if name not in self._made:
            self._made.add(name)
            zeros = _along(self.constants[zero].astype(np.float32), spread) if zero else np.float32(0)
            scales = _along(self.constants[scale], spread)
            real = (self.constants[weight].astype(np.float32) - zeros) * scales
            real = np.ascontiguousarray(real.transpose(order or range(real.ndim)), np.float32)
            self.graph.initializer.append(numpy_helper.from_array(real, name))
        return name


def _spread(node: onnx.NodeProto) -> Sequence[int]:
    """The shape of the scales of a layer's outputs beside its weights."""
    return (-1, 1, 1) if node.op_type == "ConvInteger" else (-1,)


def _along(values: NDArray[Any], spread: Sequence[int]) -> NDArray[Any]:
    return values.reshape(spread) if values.size > 1 else values.reshape(())


# Adaptive norms


@dataclass(frozen=True)
class _AdaptiveNorm:
    """The ``layer`` of a norm, the half of the ``style`` it reads, and the nodes that make its scales and shifts."""

    style: str
    layer: Linear
    scale: onnx.NodeProto
    split: onnx.NodeProto


def adaptive_norms(model: onnx.ModelProto) -> int:
    """The number of adaptive norms: splits of a tensor that is a row of numbers."""
    editing = Editing(model.graph)
    return sum(
        node.op_type == "Split" and editing.maker(node.input[0], "Unsqueeze") is not None for node in model.graph.node
    )


def by_convolution(model: onnx.ModelProto) -> int:
    """Compute the scales and shifts of all adaptive norms at once, by one convolution for each half of the style.

    A norm's scales and shifts have one number for each channel. Made by matrix products, they lie in memory like a
    plain tensor, and OpenVINO brings the large tensors that they are multiplied with into that form and back, for every
    convolution. Made by a convolution, they have the form of its tensors, and all stays in place.

    Returns the number of norms. Without this pass a sentence takes 7 % more time.
    """
    editing = Editing(model.graph)
    norms = [norm for node in model.graph.node if (norm := _adaptive_norm(editing, node)) is not None]
    for style in sorted({norm.style for norm in norms}):
        _join(editing, style, [norm for norm in norms if norm.style == style])
    editing.finish()
    return len(norms)


def _adaptive_norm(editing: Editing, split: onnx.NodeProto) -> _AdaptiveNorm | None:
    """The norm of the chain MatMul, Add, Unsqueeze and Split, whose first half is increased by one."""
    unsqueeze = editing.maker(split.input[0], "Unsqueeze") if split.op_type == "Split" else None
    add = editing.maker(unsqueeze.input[0], "Add") if unsqueeze is not None else None
    summed = editing.parted(add) if add is not None else None
    product = editing.maker(summed[0], "MatMul") if summed is not None else None
    scale = editing.reader(split.output[0], "Add")
    if summed is None or product is None or scale is None:
        return None
    weight, one = editing.parted(product), editing.parted(scale)
    if weight is None or one is None or one[1] != 1:
        return None
    return _AdaptiveNorm(weight[0], Linear(weight[1], summed[1]), scale, split)


def _join(editing: Editing, style: str, norms: list[_AdaptiveNorm]) -> None:
    """Make all scales and shifts from one half of the style."""
    g = Graph(prefix=f"{style}_norms_")
    layer = Linear.joined([norm.layer for norm in norms])
    sizes = [norm.layer.bias.size // 2 for norm in norms for _ in range(2)]
    column = g.op("Unsqueeze", style, g.constant([2]))
    bias = np.concatenate([_increased(norm.layer.bias) for norm in norms])
    every = g.op("Conv", column, g.weight(layer.weight.T[:, :, None], "weight"), g.weight(bias, "bias"))
    names = [name for norm in norms for name in (norm.scale.output[0], norm.split.output[1])]
    g.nodes.append(onnx.helper.make_node("Split", [every, g.constant(sizes)], names, f"{style}_norms", axis=1))
    first, *others = norms
    editing.replace(first.split, g)
    for norm in others:
        editing.replace(norm.split, Graph())
    for norm in norms:
        editing.replace(norm.scale, Graph())


def _increased(bias: Array) -> Array:
    """The bias of a norm's layer with one added to that of the scales."""
    half = bias.size // 2
    return np.concatenate([bias[:half] + 1, bias[half:]])


# Periodic activations


def activations(model: onnx.ModelProto) -> int:
    """Compute each periodic activation, ``x + sin(a x)^2 / a``, as one chain of squares, without a sine.

    The factor ``a`` goes into the scales and shifts of the norm before. Returns the number of activations. Without this
    pass a sentence takes 70 % more time.
    """
    editing = Editing(model.graph)
    count = sum(_without_sine(editing, node) for node in model.graph.node if node.op_type == "Sin")
    editing.finish()
    return count


def squared_sines(model: onnx.ModelProto) -> int:
    """The number of activations: sines that are squared."""
    editing = Editing(model.graph)
    return sum(node.op_type == "Sin" and editing.reader(node.output[0], "Pow") is not None for node in model.graph.node)


def _without_sine(editing: Editing, sine: onnx.NodeProto) -> bool:
    """Mul, Sin, Pow, Mul and Add behind a norm's Mul and Add."""
    multiply, power = editing.maker(sine.input[0], "Mul"), editing.reader(sine.output[0], "Pow")
    given = editing.parted(multiply) if multiply is not None else None
    divide = editing.reader(power.output[0], "Mul") if power is not None else None
    total = editing.reader(divide.output[0], "Add") if divide is not None else None
    norm = _norm_before(editing, given[0]) if given is not None else None
    if given is None or total is None or norm is None:
        return False
    factors = np.where(np.abs(given[1]) < _LEAST, np.copysign(np.float32(_LEAST), given[1]), given[1]) / np.pi
    g = Graph(prefix=f"{total.output[0]}_")
    per_channel = g.weight(factors.astype(np.float32), "factors")
    normed, scale, shift = norm
    scaled = g.op("Mul", normed, g.op("Mul", scale, per_channel))
    waves = g.op("Add", scaled, g.op("Mul", shift, per_channel))
    root = g.op("Pow", cosine(g, waves, DOUBLINGS - 1), g.constant(2, np.float32))
    fallen = g.op("Mul", root, g.constant(-1 / (4 * np.pi), np.float32))
    total_waves = g.op("Add", g.op("Add", fallen, g.constant(1 / np.pi, np.float32)), waves)
    g.op("Mul", total_waves, g.weight((1 / factors).astype(np.float32), "inverse"), output=total.output[0])
    editing.replace(total, g)
    return True


def _norm_before(editing: Editing, name: str) -> tuple[str, str, str] | None:
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


# Doubled sequences


def doubled(model: onnx.ModelProto) -> int:
    """The number of nodes that double the length of sequences."""
    editing = Editing(model.graph)
    return sum(_doubles(editing, node) for node in model.graph.node)


def doubled_by_joining(model: onnx.ModelProto) -> int:
    """Double sequences by a join and another shape, where the published graph resizes; returns how many.

    OpenVINO's kernel for resizing refuses, when it runs, a graph that also has integers: "bad combination".
    """
    editing = Editing(model.graph)
    nodes = [node for node in model.graph.node if _doubles(editing, node)]
    for node in nodes:
        g = Graph(prefix=f"{node.output[0]}_")
        sample = g.op("Unsqueeze", node.input[0], g.constant([3]))
        g.op("Reshape", g.op("Concat", sample, sample, axis=3), g.constant([0, 0, -1]), output=node.output[0])
        editing.replace(node, g)
    editing.finish()
    return len(nodes)


def _doubles(editing: Editing, node: onnx.NodeProto) -> bool:
    return node.op_type == "Resize" and editing.constants[node.input[2]].tolist() == _DOUBLED


# Sequences as images


def as_nchw(model: onnx.ModelProto) -> int:
    """Turn the tensors between convolutions into images of height one, [batch, channels, 1, time]; returns how many.

    OpenVINO's convolutions in bfloat16 want the channels of a sample next to each other. Its kernels for means and
    norms take that form for images only; for plain sequences it brings each tensor into another form and back. Without
    this pass a sentence takes 16 % more time.
    """
    rewriting = _Sequences(model.graph)
    rewriting.run()
    return rewriting.count


class _Sequences(Nchw):
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
        if node.op_type in _OF_HEIGHT:
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
        if kind in _OF_HEIGHT:
            parts = np.split(constant, constant.size // 3)
            wide = [np.insert(part, _TIME, _OF_HEIGHT[kind]) for part in parts]
            return self._constant(f"{name}_with_height", np.concatenate(wide).astype(constant.dtype))
        return name if constant.size == 1 else self._constant(f"{name}_with_height", constant[..., None])

    def _constant(self, name: str, value: np.ndarray[Any, Any]) -> str:
        if name not in self.constants:
            self.constants[name] = value
            self.graph.initializer.append(numpy_helper.from_array(value, name))
        return name


# The vocoder in integers


def vocoder_convolutions(model: onnx.ModelProto) -> int:
    """The number of the vocoder's convolutions within its blocks."""
    return sum(node.op_type == "Conv" and _LAYER.search(node.name) is not None for node in model.graph.node)


def in_integers(model: onnx.ModelProto) -> int:
    """Let the vocoder's widest convolutions multiply 8-bit integers again, with constant scales; returns how many.

    They take seven eighths of the operations, and a processor with VNNI multiplies 8-bit integers twice as fast as
    bfloat16. The weights are the published ones, exactly. The published graph finds each activation's extremes at run
    time, and rounds to 255 steps between them. Here the steps are constant, and OpenVINO rounds while it computes the
    activation.

    Values beyond ``_RANGES`` are cut: one in ten thousand in the loudest of twelve voices, between which this differs
    by up to a half. The extremes are 1.4 to 2 times as large, so the steps are finer than the published ones. Without
    this pass a sentence takes 36 % more time.
    """
    editing = Editing(model.graph)
    count = sum(_in_integers(editing, node) for node in model.graph.node if node.op_type == "Conv")
    editing.finish()
    return count


def _in_integers(editing: Editing, node: onnx.NodeProto) -> bool:
    layer = _LAYER.search(node.name)
    weight = _integers(editing.constants[node.input[1]]) if layer is not None else None
    if layer is None or weight is None:
        return False
    kind, block, part, at = layer.groups()
    largest = _RANGES[kind, int(block)][3 * int(part) + int(at) - 3]
    integers, scale = weight
    g = Graph(prefix=f"{node.output[0]}_")
    step, zero = g.constant(largest / LARGEST, np.float32), g.constant(0, np.int8)
    read = g.op("DequantizeLinear", g.op("QuantizeLinear", node.input[0], step, zero), step, zero)
    kernel = g.op("DequantizeLinear", g.weight(integers, "int8"), g.constant(scale, np.float32))
    g.op("Conv", read, kernel, *node.input[2:], output=node.output[0], **attributes_of(node))
    editing.replace(node, g)
    return True


def _integers(weight: Array) -> tuple[NDArray[np.int8], float] | None:
    """The integers and the scale of which a weight is the product; None if it is not, or they have more than 8 bits."""
    extreme = float(np.abs(weight).max())
    steps = round(extreme / float(np.diff(np.unique(weight)).min()))
    integers = np.round(weight / (extreme / steps))
    exact = steps <= LARGEST and np.allclose(weight, integers * (extreme / steps), rtol=1e-5, atol=0)
    return (integers.astype(np.int8), extreme / steps) if exact else None


PASSES = (
    Pass("plain", "integer layers", nodes(*KINDS), plain),
    Pass("style", "adaptive norms", adaptive_norms, by_convolution),
    Pass("sines", "periodic activations", squared_sines, activations),
    Pass("doubling", "doubled sequences", doubled, doubled_by_joining),
    Pass("NCHW", "convolutions", nodes(*CONVOLUTIONS), as_nchw),
    Pass("source", "Fourier transforms", nodes("STFT"), rebuilt),
    Pass("integers", "wide convolutions", vocoder_convolutions, in_integers),
)
