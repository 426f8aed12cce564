"""The embedder as the product exports it, its texts packed, on ONNX Runtime."""

from scripts.gpu_check.found import no_cuda_in_onnxruntime, require
from scripts.gpu_check.job import Job

MODULES = ("onnx", "onnxruntime", "torch", "transformers")


def run(job: Job) -> None:
    """fp16 with PackedMultiHeadAttention on CUDA; on a processor, which has no such operator, the fp32 graph."""
    require(job.device, no_cuda_in_onnxruntime, modules=MODULES)
    from scripts.gpu_check.lookalikes import packed_graph
    from scripts.gpu_check.onnx_model import OnnxModel
    from scripts.gpu_check.texts import measure, packed, precision

    model = OnnxModel(packed_graph(job, half=job.half), job.device)
    measure(job, f"packed {precision(job)}", lambda texts: model.bound(packed(texts)))
