"""The passes over a graph of Piper's. Each replaces nodes by others that give the same sound, and says its gain."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from scripts.export_models.onnx_graph import Graph
from scripts.export_models.onnx_passes import (
    CONVOLUTIONS,
    ELEMENTWISE,
    Pass,
    attributes_of,
    channels_of,
    constants_of,
    drop_unused,
    nodes,
    read_by,
    replace_nodes,
)
from scripts.export_models.progress import SILENT, Progress

_AXES = "convolutions_axes"
_HEIGHT, _TIME = 2, 3
# Attributes with a number for each dimension, and the number for the new dimension.
_BY_DIMENSION = {"kernel_shape": 1, "dilations": 1, "strides": 1, "output_padding": 0}
# Samples of one tile after the upsampling: at 32 channels half a megabyte, so two tensors fit in a cache.
_SAMPLES = 4096
_UPSAMPLING = "ConvTranspose"


def rewrite(model: onnx.ModelProto, progress: Progress = SILENT) -> None:
    """Run all passes over a voice in place; raises ``SourceError`` for one that is no vocoder of Piper's."""
    for each in progress.over(PASSES, "rewriting"):
        each.run(model)


# Sequences as images


def as_nchw(model: onnx.ModelProto) -> int:
    """Turn convolutions over time into convolutions over images of height one; returns how many.

    ONNX Runtime's blocked NCHWc kernels take only two-dimensional convolutions; a vocoder's have one dimension. Between
    convolutions the tensors stay [batch, channels, 1, time] (NCHW), so nothing is reordered. Results change only by
    rounding. This pass alone makes a sentence 1.2 times as fast. Loading the voice takes 60 MB more.
    """
    rewriting = Nchw(model.graph)
    rewriting.run()
    return rewriting.count


class Nchw:
    """Rewrites one graph.

    ``wide`` has the names of the forms [batch, channels, 1, time] of tensors [batch, channels, time]. ``_narrow`` has
    the tensors whose plain form exists too.
    """

    def __init__(self, graph: onnx.GraphProto) -> None:
        self.graph = graph
        self.constants = constants_of(graph)
        self.wide: dict[str, str] = {}
        self._narrow: set[str] = set()
        self._nodes: list[onnx.NodeProto] = []
        self.count = 0

    def run(self) -> None:
        for node in list(self.graph.node):
            if node.op_type in CONVOLUTIONS and self._rank(node.input[1]) == 3:
                self._convolve(node)
            elif self.fits(node):
                self.keep_wide(node)
            else:
                self._squeeze(read_by(node))
                self._nodes.append(node)
        self._squeeze(output.name for output in self.graph.output)
        if self.count:
            del self.graph.value_info[:]
            replace_nodes(self.graph, self._nodes)
            self.graph.initializer.append(numpy_helper.from_array(np.array([_HEIGHT], np.int64), _AXES))
            drop_unused(self.graph)

    def _rank(self, name: str) -> int:
        return self.constants[name].ndim if name in self.constants else 0

    def fits(self, node: onnx.NodeProto) -> bool:
        """Whether the node has a wide form: every input has one or is a single number, and one has a wide form."""
        if node.op_type not in ELEMENTWISE:
            return False
        single = [name in self.constants and self.constants[name].size == 1 for name in node.input]
        wide = [name in self.wide for name in node.input]
        return any(wide) and all(one or other for one, other in zip(single, wide, strict=True))

    def widened(self, name: str) -> str:
        if name not in self.wide:
            self.wide[name] = f"{name}_wide"
            self._narrow.add(name)
            self._nodes.append(helper.make_node("Unsqueeze", [name, _AXES], [self.wide[name]]))
        return self.wide[name]

    def add(self, node: onnx.NodeProto, inputs: list[str], attributes: dict[str, Any]) -> None:
        self.wide |= {output: f"{output}_wide" for output in node.output}
        outputs = [self.wide[output] for output in node.output]
        added = helper.make_node(node.op_type, inputs, outputs, name=node.name, **attributes)
        added.domain = node.domain
        self._nodes.append(added)

    def _convolve(self, node: onnx.NodeProto) -> None:
        attributes = attributes_of(node)
        for name, number in _BY_DIMENSION.items():
            if name in attributes:
                attributes[name] = [number, *attributes[name]]
        if "pads" in attributes:
            begin, end = attributes["pads"]
            attributes["pads"] = [0, begin, 0, end]
        weight, *bias = node.input[1:]
        self.add(node, [self.widened(node.input[0]), self._flat(weight), *bias], attributes)
        self.count += 1

    def _flat(self, name: str) -> str:
        """The weights of a convolution as [out, in, 1, time]."""
        flat = f"{name}_flat"
        if flat not in self.constants:
            self.constants[flat] = np.expand_dims(self.constants[name], _HEIGHT)
            self.graph.initializer.append(numpy_helper.from_array(self.constants[flat], flat))
        return flat

    def keep_wide(self, node: onnx.NodeProto) -> None:
        self.add(node, [self.wide.get(name, name) for name in node.input], attributes_of(node))

    def _squeeze(self, names: Iterable[str]) -> None:
        """Add the plain form of those tensors that only have a wide form."""
        for name in names:
            if name in self.wide and name not in self._narrow:
                self._narrow.add(name)
                self._nodes.append(helper.make_node("Squeeze", [self.wide[name], _AXES], [name]))


# Tiles


def in_tiles(model: onnx.ModelProto) -> int:
    """Compute the stages of a model in NCHW tile by tile; returns how many stages.

    A stage is an upsampling convolution and everything up to the next one. At the rate of audio, each tensor of a
    sentence has some 20 MB, so every layer would wait for memory; those of a tile stay in a processor's caches. A tile
    is computed with as much of its neighbours as its convolutions read, and this margin is cut off: the samples stay
    the same. Without this pass a sentence takes 15 % more time, and one of 10 s takes 190 MB more.
    """
    # Rewriting copies the nodes, so each stage is searched in the graph that the previous one left.
    outputs = [node.output[0] for node in model.graph.node if node.op_type == _UPSAMPLING]
    count = 0
    for output in outputs:
        upsampling = next(node for node in model.graph.node if output in node.output)
        if (stage := _stage(model.graph, upsampling)) is not None:
            _rewrite_stage(model.graph, stage)
            count += 1
    return count


@dataclass
class _Stage:
    """The ``nodes`` from tensor ``start`` to tensor ``end``, which has ``factor`` samples per sample of ``start``.

    ``margins`` are the numbers of samples of ``start`` before and after its own that a sample of ``end`` depends on.
    """

    start: str
    factor: int
    end: str = ""
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    margins: tuple[int, int] = (0, 0)

    def holds(self, node: onnx.NodeProto) -> bool:
        return bool(node.output) and node.output[0] in {own.output[0] for own in self.nodes}


def _stage(graph: onnx.GraphProto, upsampling: onnx.NodeProto) -> _Stage | None:
    """The stage that begins with a node, or None if its samples depend on more than their neighbours."""
    constants = constants_of(graph)
    if upsampling.op_type != _UPSAMPLING or upsampling.input[1] not in constants:
        return None
    size = constants[upsampling.input[1]].shape[-1]
    shape = _steps(upsampling, size)
    if shape is None:
        return None
    stride, pad = shape
    stage = _Stage(upsampling.input[0], stride, nodes=[upsampling])
    fields = {upsampling.output[0]: (0, 0)}
    for node in graph.node:
        inputs = [name for name in node.input if name not in constants]
        if not inputs or not all(name in fields for name in inputs):
            continue
        own = _receptive_field(node, constants)
        if own is not None:
            before, after = (max(fields[name][side] for name in inputs) for side in (0, 1))
            fields[node.output[0]] = (before + own[0], after + own[1])
            stage.nodes.append(node)
    ends = _read_outside(graph, stage)
    if len(ends) != 1:
        return None
    stage.end = ends.pop()
    before, after = fields[stage.end]
    stage.margins = (-(-(before + size - 1 - pad) // stride), -(-(after + pad) // stride))
    return stage


def _steps(node: onnx.NodeProto, size: int) -> tuple[int, int] | None:
    """Stride and first padding of a transposed convolution with kernel ``size``; None unless it multiplies the length.

    It must give exactly ``stride`` output samples per input sample.
    """
    attributes = attributes_of(node)
    stride = attributes.get("strides", [1])[-1]
    before, after = attributes.get("pads", [0] * 4)[1::2]
    added = attributes.get("output_padding", [0])[-1] - before - after
    plain = attributes.get("dilations", [1])[-1] == 1
    return (stride, before) if plain and size + added == stride else None


def _receptive_field(node: onnx.NodeProto, constants: dict[str, NDArray[Any]]) -> tuple[int, int] | None:
    """How many samples a node reads before and after its own; None if it reads any or changes the length."""
    if node.op_type in ELEMENTWISE:
        single = all(constants[name].size == 1 for name in node.input if name in constants)
        return (0, 0) if single else None
    if node.op_type != "Conv" or node.input[1] not in constants:
        return None
    attributes = attributes_of(node)
    reach = (constants[node.input[1]].shape[-1] - 1) * attributes.get("dilations", [1])[-1]
    before, after = attributes.get("pads", [0] * 4)[1::2]
    return (before, after) if before + after == reach and attributes.get("strides", [1])[-1] == 1 else None


def _read_outside(graph: onnx.GraphProto, stage: _Stage) -> set[str]:
    """The tensors of the stage that nodes outside it read."""
    read = {name for node in graph.node if not stage.holds(node) for name in read_by(node)}
    return {node.output[0] for node in stage.nodes} & (read | {output.name for output in graph.output})


def _rewrite_stage(graph: onnx.GraphProto, stage: _Stage) -> None:
    """Replace the nodes of a stage by a loop over tiles."""
    g = Graph(prefix=f"{stage.end}_")
    each = max(1, _SAMPLES // stage.factor)
    count = g.op(
        "Squeeze", g.op("Div", g.op("Add", g.size(stage.start, _TIME), g.constant([each - 1])), g.constant([each]))
    )

    def tile(body: Graph, number: str) -> str:
        axis, factor = body.constant([_TIME]), body.constant([stage.factor])
        first = body.op("Reshape", body.op("Mul", number, body.constant(each)), body.constant([1]))
        begin = body.op("Max", body.op("Sub", first, body.constant([stage.margins[0]])), body.constant([0]))
        end = body.op("Add", first, body.constant([each + stage.margins[1]]))
        given = body.op("Slice", stage.start, begin, end, axis)
        whole = body.name("whole")
        for node in stage.nodes:
            body.nodes.append(_renamed(node, {stage.start: given, stage.end: whole}))
        cut = body.op("Mul", body.op("Sub", first, begin), factor)
        return body.op("Slice", whole, cut, body.op("Add", cut, body.constant([each * stage.factor])), axis)

    g.op("Identity", g.collect("tile", count, tile, axis=_TIME), output=stage.end)
    (body,) = (attribute.g for node in g.nodes for attribute in node.attribute if attribute.name == "body")
    _declare_lengths(graph, stage, body)
    _move_weights(graph, stage, body)
    last = max(index for index, node in enumerate(graph.node) if stage.holds(node))
    nodes: list[onnx.NodeProto] = []
    for index, node in enumerate(graph.node):
        if index == last:
            nodes += g.nodes
        elif not stage.holds(node):
            nodes.append(node)
    replace_nodes(graph, nodes)
    graph.initializer.extend(g.weights)


def _renamed(node: onnx.NodeProto, names: dict[str, str]) -> onnx.NodeProto:
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    for field_of in (copy.input, copy.output):
        field_of[:] = [names.get(name, name) for name in field_of]
    return copy


def _move_weights(graph: onnx.GraphProto, stage: _Stage, body: onnx.GraphProto) -> None:
    """Move the stage's weights into the loop, where ONNX Runtime reorders those of convolutions when it loads them."""
    read = {name for node in stage.nodes for name in node.input}
    others = {name for node in graph.node if not stage.holds(node) for name in read_by(node)}
    body.initializer.extend(weight for weight in graph.initializer if weight.name in read - others)
    kept = [weight for weight in graph.initializer if weight.name not in read - others]
    del graph.initializer[:]
    graph.initializer.extend(kept)


def _declare_lengths(graph: onnx.GraphProto, stage: _Stage, body: onnx.GraphProto) -> None:
    """Give all tensors of the stage one length: ONNX Runtime fuses an addition only of known, equal lengths."""
    channels, length = channels_of(graph), f"{stage.end}_length"
    for node in stage.nodes:
        name = node.output[0]
        if name in channels and name != stage.end:
            body.value_info.append(
                helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, channels[name], 1, length])
            )


PASSES = (
    Pass("NCHW", "convolutions", nodes(*CONVOLUTIONS), as_nchw),
    Pass("tiles", "upsampling stages", nodes(_UPSAMPLING), in_tiles),
)
