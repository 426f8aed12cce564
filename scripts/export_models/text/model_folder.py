"""The folder of an exported text model: how it is written, and how Triton runs it on a processor."""

import json
from pathlib import Path
from typing import Any

import onnx

from scripts.export_models.onnx_graph import save
from scripts.export_models.precisions import FAST_INT8
from scripts.export_models.text.checks import Run
from scripts.export_models.text.encoder import Precision
from scripts.export_models.triton_code import triton_module


def write(graph: onnx.ModelProto, precision: Precision, target: Path, **settings: Any) -> None:
    """Write a graph and its ``settings`` into ``target``."""
    save(graph, target / "model.onnx")
    for_processors = {} if precision == "fp16" else {"processor_flags": sorted(FAST_INT8)}
    settings |= {"precision": precision, **for_processors}
    (target / "quartet.json").write_text(json.dumps(settings, indent=1) + "\n", encoding="utf-8")


def session(folder: Path, threads: int = 2) -> Run:
    """The model in ``folder`` as a function from the token ids of texts to one row per text."""
    run: Run = triton_module("m3_embedder", "texts").TextModel(folder, threads).compute
    return run
