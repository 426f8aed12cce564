"""The embedder as the product exports it, its texts packed."""

from functools import partial

from scripts.gpu_check.found import no_cuda_in_onnxruntime, require
from scripts.gpu_check.job import Job

MODULES = ("onnx", "onnxruntime", "torch", "transformers")


def run(job: Job) -> None:
    """On CUDA in fp16 by ONNX Runtime, as Triton's backend does it; on a processor in fp32 by the product's code."""
    require(job.device, no_cuda_in_onnxruntime, modules=MODULES)
    from scripts.export_models.text.model_folder import session
    from scripts.gpu_check.lookalikes import packed_graph
    from scripts.gpu_check.onnx_model import OnnxModel
    from scripts.gpu_check.texts import measure, packed
    from scripts.machine import processors

    folder = packed_graph(job, job.precision)
    if job.half:
        model = OnnxModel(folder / "model.onnx", job.device)
        measure(job, f"packed {job.precision}", lambda texts: model.bound(packed(texts)))
    else:
        run = session(folder, processors())
        measure(job, f"packed {job.precision}", lambda texts: partial(run, texts))
