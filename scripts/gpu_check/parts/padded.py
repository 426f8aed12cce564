"""The baseline: the same graph with padded texts."""

from scripts.gpu_check.found import no_cuda_in_onnxruntime, require
from scripts.gpu_check.job import Job
from scripts.gpu_check.parts.text import MODULES


def run(job: Job) -> None:
    """Each run in a block as long as its longest text."""
    require(job.device, no_cuda_in_onnxruntime, modules=MODULES)
    from scripts.gpu_check.lookalikes import padded_graph
    from scripts.gpu_check.onnx_model import OnnxModel
    from scripts.gpu_check.texts import block, measure

    model = OnnxModel(padded_graph(job), job.device)
    measure(job, f"padded {job.precision}", lambda texts: model.bound(block(texts)))
