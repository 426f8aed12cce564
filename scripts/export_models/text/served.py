"""An exported text model: what is written for Triton, and what Triton makes of it on a processor."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import onnx
import openvino as ov

from scripts.export_models.graphs.builder import save
from scripts.export_models.graphs.fast_int8 import FAST_INT8
from scripts.export_models.graphs.served import served
from scripts.export_models.text.checks import Run
from scripts.export_models.text.encoder import Precision


def write(graph: onnx.ModelProto, precision: Precision, target: Path, **settings: Any) -> None:
    """Put a graph into ``target`` with what there is to know of it: as ``model.onnx`` for CUDA, else for OpenVINO."""
    target.mkdir(parents=True, exist_ok=True)
    for other in (*target.glob("*.onnx*"), *target.glob("texts.[xb]*")):
        other.unlink()
    settings["precision"] = precision
    if precision == "fp16":
        save(graph, target / "model.onnx")
    else:
        settings["processor_flags"] = sorted(FAST_INT8)
        _save_for_openvino(graph, target / served("m3_embedder", "texts").GRAPH)
    (target / "quartet.json").write_text(json.dumps(settings, indent=1) + "\n", encoding="utf-8")


def _save_for_openvino(graph: onnx.ModelProto, target: Path) -> None:
    """As it simplifies a graph for any processor: to compile what is left takes two thirds of the time."""
    with TemporaryDirectory() as folder:
        save(graph, Path(folder) / "model.onnx")
        ov.save_model(ov.convert_model(Path(folder) / "model.onnx"), target, compress_to_fp16=False)


def session(folder: Path, threads: int = 2) -> Run:
    """The model in ``folder`` as a function from the token ids of texts to one row a text."""
    run: Run = served("m3_embedder", "texts").TextModel(folder, threads).compute
    return run
