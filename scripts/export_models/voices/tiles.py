"""Convolutions over time in tiles of four samples, for Winograd's filtering; what lies between them stays in tiles too.

A tensor [1, channels, time] becomes [4, channels, tiles]: its phases take the place of the batch. Whatever computes
sample by sample, or takes channels apart and together, does the same to either form, so only the first convolution's
input is laid out anew, and what others read of the last one. The sound does not change but for rounding.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import onnx
from onnx import helper, numpy_helper, shape_inference

from scripts.export_models.graphs.builder import Graph
from scripts.export_models.graphs.rewriting import attributes_of, constants_of, drop_unused, read_by, replace_nodes
from scripts.export_models.voices.winograd import SIZES, TILE, convolve

_CHANNEL, _TIME = 1, 2
# With fewer, laying out anew costs what the products save.
_LEAST_CHANNELS = 96
_ALONE = {"Exp", "LeakyRelu", "Neg", "Relu", "Sigmoid", "Tanh"}
_TOGETHER = {"Add", "Div", "Mul", "Sub"}
_APART = {"Slice", "Split"}
_NOT_ZERO_AT_ZERO = {"Conv", "Exp", "Sigmoid"}
# What a convolution has where it does not say.
_PLAIN = {"auto_pad": b"NOTSET", "dilations": [1], "group": 1, "pads": [0, 0], "strides": [1]}


def in_tiles(model: onnx.ModelProto) -> int:
    """Rewrite a model in place up to its first upsampling, and answer how many convolutions are in tiles."""
    rewriting = _Rewriting(model)
    rewriting.run()
    return rewriting.count


@dataclass(frozen=True)
class _Tiles:
    """The form [4, channels, tiles] of a tensor that is ``length``, INT64 [1], long.

    Behind its end the last tile is zero if it is ``silent``.
    """

    name: str
    length: str
    silent: bool = True


class _Rewriting:
    def __init__(self, model: onnx.ModelProto) -> None:
        self._graph = model.graph
        self._constants = constants_of(model.graph)
        self._dimensions = _dimensions(model)
        self._dimensions.update((name, list(value.shape)) for name, value in self._constants.items())
        self._g = Graph(prefix="tiles_")
        self._tiles: dict[str, _Tiles] = {}
        # Tensors whose only form is that in tiles.
        self._tiles_only: set[str] = set()
        self._shape_of: dict[str, str] = {}
        self._sound: dict[str, str] = {}
        self._upsampled = False
        self.count = 0

    def run(self) -> None:
        for node in list(self._graph.node):
            self._upsampled |= node.op_type == "ConvTranspose"
            if self._upsampled or not self._rewrite(node):
                self._lay_out(read_by(node))
                self._g.nodes.append(node)
        self._lay_out([output.name for output in self._graph.output])
        if self.count:
            del self._graph.value_info[:]
            replace_nodes(self._graph, self._g.nodes)
            self._graph.initializer.extend(self._g.weights)
            drop_unused(self._graph)

    def _rewrite(self, node: onnx.NodeProto) -> bool:
        """Put a node's form for tiles into the new graph, if it has one and its input is in tiles or to be."""
        if node.op_type == "Conv":
            return self._convolve(node)
        if node.op_type == "ConstantOfShape":
            return self._fill(node)
        if not any(name in self._tiles for name in node.input):
            return False
        if node.op_type == "Shape":
            return self._tell_shape(node)
        if node.op_type in _ALONE:
            return self._keep(node, node.input)
        if node.op_type in _APART and self._along_channels(node):
            return self._keep(node, node.input[:1])
        if node.op_type == "Concat" and self._along_channels(node) and not self._constants.keys() & set(node.input):
            return self._keep(node, node.input)
        if node.op_type in _TOGETHER and self._agree(node):
            return self._keep(
                node, [name for name in node.input if name in self._tiles or not self._same_over_time(name)]
            )
        return False

    def _keep(self, node: onnx.NodeProto, cut: Sequence[str]) -> bool:
        """Let a node compute what it does on tiles of those inputs that it is to have ``cut``."""
        given = [self._in_tiles(name) for name in cut]
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        copy.input[:] = [self._tiles[name].name if name in cut else name for name in node.input]
        copy.output[:] = [f"{name}_tiles" for name in node.output]
        self._g.nodes.append(copy)
        silent = [tiles.silent for tiles in given]
        shifted = node.op_type in {"Add", "Sub"} and len(given) < len(node.input)
        zero = any(silent) if node.op_type == "Mul" else all(silent) and not shifted
        for name in node.output:
            self._remember(
                name, _Tiles(f"{name}_tiles", given[0].length, zero and node.op_type not in _NOT_ZERO_AT_ZERO)
            )
        return True

    def _convolve(self, node: onnx.NodeProto) -> bool:
        kernel = self._constants.get(node.input[1])
        if kernel is None or kernel.ndim != 3 or not _keeps_length(node, kernel.shape[2]):
            return False
        if kernel.shape[2] == 1:
            return node.input[0] in self._tiles and self._keep(node, node.input[:1])
        known = all(name in self._constants for name in node.input[2:])
        if kernel.shape[2] not in SIZES or min(kernel.shape[:2]) < _LEAST_CHANNELS or not known:
            return False
        given = self._in_tiles(node.input[0])
        if not given.silent:
            given = replace(given, name=self._g.op("Mul", given.name, self._sounding(given.length)))
        bias = self._constants[node.input[2]] if len(node.input) > 2 else None
        self._remember(node.output[0], _Tiles(convolve(self._g, given.name, kernel, bias), given.length, silent=False))
        self.count += 1
        return True

    def _fill(self, node: onnx.NodeProto) -> bool:
        """Zeros of another tensor's shape, as exporters write ``zeros_like``."""
        value = attributes_of(node).get("value")
        if node.input[0] not in self._shape_of or (value is not None and numpy_helper.to_array(value).any()):
            return False
        like = self._tiles[self._shape_of[node.input[0]]]
        zeros = self._g.op("ConstantOfShape", self._g.op("Shape", like.name), **attributes_of(node))
        self._remember(node.output[0], _Tiles(zeros, like.length))
        return True

    def _tell_shape(self, node: onnx.NodeProto) -> bool:
        if node.attribute:
            return False
        (name,), (output,) = node.input, node.output
        tiles = self._tiles[name]
        channels = self._g.size(tiles.name, _CHANNEL)
        self._g.op("Concat", self._g.constant([1]), channels, tiles.length, axis=0, output=output)
        self._shape_of[output] = name
        return True

    def _along_channels(self, node: onnx.NodeProto) -> bool:
        if node.op_type != "Slice":
            return bool(attributes_of(node).get("axis", 0) == _CHANNEL)
        axes = self._constants.get(node.input[3]) if len(node.input) > 3 else None
        return axes is not None and axes.tolist() == [_CHANNEL]

    def _agree(self, node: onnx.NodeProto) -> bool:
        """Whether each input is in tiles, can be, or does not change over time."""
        if node.op_type == "Div" and node.input[1] not in self._constants:
            return False
        return all(
            name in self._tiles or self._same_over_time(name) or self._dimensions.get(name, [])[_TIME:] == [None]
            for name in node.input
        )

    def _same_over_time(self, name: str) -> bool:
        """Whether a tensor is one number, or one for each channel, in a shape that stands for either form."""
        shape = self._dimensions.get(name, [None])
        return len(shape) <= _TIME + 1 and (set(shape) <= {1} or (shape[-1] == 1 and shape[:-2] in ([], [1])))

    def _remember(self, name: str, tiles: _Tiles) -> None:
        self._tiles[name] = tiles
        self._tiles_only.add(name)

    def _in_tiles(self, name: str) -> _Tiles:
        if name not in self._tiles:
            length = self._g.size(name, _TIME)
            self._tiles[name] = _Tiles(self._cut(name, self._g.size(name, _CHANNEL), length), length)
        return self._tiles[name]

    def _cut(self, name: str, channels: str, length: str) -> str:
        """A tensor [1, channels, time] in tiles; more than one in a batch is an error."""
        g = self._g
        tiles = g.op("Div", g.op("Add", length, g.constant([TILE - 1])), g.constant([TILE]))
        missing = g.op("Sub", g.op("Mul", tiles, g.constant([TILE])), length)
        whole = g.op("Pad", name, g.op("Concat", g.constant([0] * 5), missing, axis=0))
        shape = g.op("Concat", channels, tiles, g.constant([TILE]), axis=0)
        return g.op("Transpose", g.op("Reshape", whole, shape), perm=[2, 0, 1])

    def _lay_out(self, names: Sequence[str]) -> None:
        """Give those tensors that have only their form in tiles the one they had."""
        g = self._g
        for name in names:
            if name in self._tiles_only:
                self._tiles_only.remove(name)
                rows = g.op("Transpose", self._tiles[name].name, perm=[1, 2, 0])
                whole = g.op("Unsqueeze", g.op("Reshape", rows, g.constant([0, -1])), g.constant([0]))
                end = self._tiles[name].length
                g.op("Slice", whole, g.constant([0]), end, g.constant([_TIME]), output=name)

    def _sounding(self, length: str) -> str:
        """One where there is a sample, zero behind the end: FP32 [4, 1, tiles]."""
        if length not in self._sound:
            one = helper.make_tensor("value", onnx.TensorProto.FLOAT, [1], [1.0])
            shape = self._g.op("Concat", self._g.constant([1, 1]), length, axis=0)
            ones = self._g.op("ConstantOfShape", shape, value=one)
            self._sound[length] = self._cut(ones, self._g.constant([1]), length)
        return self._sound[length]


def _dimensions(model: onnx.ModelProto) -> dict[str, list[int | None]]:
    """Of each tensor whose rank is known, how long it is along each axis, or none where that is not the same always."""
    inferred = shape_inference.infer_shapes(model, data_prop=True).graph
    known = [value for value in (*inferred.input, *inferred.value_info) if value.type.tensor_type.HasField("shape")]
    return {
        value.name: [
            size.dim_value if size.HasField("dim_value") else None for size in value.type.tensor_type.shape.dim
        ]
        for value in known
    }


def _keeps_length(node: onnx.NodeProto, size: int) -> bool:
    """A convolution without groups, strides and gaps, that gives as many samples as it is given."""
    wanted = {**_PLAIN, "pads": [size // 2] * 2}
    return {name: attributes_of(node).get(name, default) for name, default in _PLAIN.items()} == wanted
