"""What the card does at best: products of large matrices, the share of which the other parts are told by."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from scripts.gpu_check.found import SkippedError, no_cuda_in_onnxruntime, no_cuda_in_torch, require
from scripts.gpu_check.job import Job, measured

_PRODUCTS = 8


def run(job: Job) -> None:
    """By ONNX Runtime, or by PyTorch where that alone has CUDA; the shortest run counts."""
    edge = job.size.product
    # As many products, one after the other, as hide what a call costs.
    weight = (np.random.default_rng(4).normal(size=(edge, edge)) / np.sqrt(edge)).astype(np.float32)
    ways = {"ONNX Runtime": _by_onnxruntime, "PyTorch": _by_torch}
    missing = []
    for name, way in ways.items():
        try:
            seconds = measured(way(job, weight), job.size.runs).least
        except SkippedError as error:
            missing.append(str(error))
            continue
        job.tell.fact("measured by", f"{name}, {edge} x {edge} in {job.precision}")
        job.tell.fact("operations a second", 2.0 * edge**3 * _PRODUCTS / seconds)
        return
    raise SkippedError("; ".join(dict.fromkeys("; ".join(missing).split("; "))))


def _by_onnxruntime(job: Job, weight: np.ndarray) -> Callable[[], object]:
    require(job.device, no_cuda_in_onnxruntime, modules=("onnx", "onnxruntime"))
    from onnx import TensorProto, helper

    from scripts.export_models.graphs.builder import Graph, save
    from scripts.gpu_check.onnx_model import OnnxModel

    dtype, kind = (np.float16, TensorProto.FLOAT16) if job.half else (np.float32, TensorProto.FLOAT)
    g, x = Graph(), "x"
    matrix = g.weight(weight.astype(dtype), "weight")
    for _ in range(_PRODUCTS):
        x = g.op("MatMul", x, matrix)
    g.op("Slice", x, g.constant([0, 0]), g.constant([1, 1]), output="corner")
    given = helper.make_tensor_value_info("x", kind, ["rows", len(weight)])
    corner = helper.make_tensor_value_info("corner", kind, [1, 1])
    path = Path(job.folder, "peak", "model.onnx")
    save(g.model([given], [corner]), path)
    return OnnxModel(path, job.device).bound({"x": weight.astype(dtype)})


def _by_torch(job: Job, weight: np.ndarray) -> Callable[[], object]:
    require(job.device, no_cuda_in_torch, modules=("torch",))
    import torch

    matrix = torch.from_numpy(weight).to(job.device, torch.float16 if job.half else torch.float32)

    def run() -> float:
        x = matrix
        for _ in range(_PRODUCTS):
            x = x @ matrix
        return float(x[0, 0])

    return run
