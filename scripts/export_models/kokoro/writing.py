"""Writes a graph for OpenVINO: large weights in half precision, and a note on what must stay in float32.

The published weights are 8 bits times a scale, so half precision loses a thousandth of a step. The files have 164 MB
instead of 325.
"""

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import onnx
import openvino as ov
from onnx import TensorProto, helper, numpy_helper

from scripts.export_models.kokoro.source import PRECISE

FILE = "kokoro.xml"
# Smaller tensors stay as they are: there are constants among them that half precision does not hold.
_LEAST_SIZE = 10_000


def write(model: onnx.ModelProto, folder: Path) -> None:
    """Write the files; the model's large weights are in half precision afterwards."""
    folder.mkdir(parents=True, exist_ok=True)
    halve(model)
    path = folder / FILE
    ov.save_model(ov.Core().read_model(model.SerializeToString()), path, compress_to_fp16=False)
    tree = ElementTree.parse(path)
    for layer in tree.iter("layer"):
        if layer.get("name", "").startswith(PRECISE) and layer.get("type") != "Const":
            _note(layer)
    tree.write(path)


def halve(model: onnx.ModelProto) -> None:
    """Keep large weights in half precision, in place; nodes read them as float32."""
    casts = []
    for weight in model.graph.initializer:
        if weight.data_type == TensorProto.FLOAT and np.prod(weight.dims) >= _LEAST_SIZE:
            name = weight.name
            weight.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(weight).astype(np.float16), f"{name}_half"))
            casts.append(helper.make_node("Cast", [weight.name], [name], name, to=TensorProto.FLOAT))
    nodes = [*casts, *model.graph.node]
    del model.graph.node[:]
    model.graph.node.extend(nodes)


def _note(layer: ElementTree.Element) -> None:
    """Let OpenVINO compute a layer in float32. Its Python interface has no name for this."""
    notes = layer.find("rt_info")
    if notes is None:
        notes = ElementTree.Element("rt_info")
        layer.insert(1 if layer.find("data") is not None else 0, notes)
    ElementTree.SubElement(notes, "attribute", name="precise", version="0")
