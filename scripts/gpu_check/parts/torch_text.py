"""The same model in PyTorch, by transformers: something to compare with, nothing that the product runs."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from scripts.gpu_check.found import no_cuda_in_torch, require
from scripts.gpu_check.job import Job

if TYPE_CHECKING:
    import numpy as np

    from scripts.gpu_check.inputs import Ids


def run(job: Job) -> None:
    """As transformers runs it: with flash attention where all texts of a run are of one length, which takes no mask."""
    require(job.device, no_cuda_in_torch, modules=("onnx", "onnxruntime", "torch", "transformers"))
    import torch

    from scripts.gpu_check.lookalikes import text_model
    from scripts.gpu_check.texts import block, measure

    model = text_model(job).to(job.device, torch.float16 if job.half else torch.float32)

    def ready(texts: "Ids") -> "Callable[[], np.ndarray]":
        its = block(texts)
        ids, lengths = (torch.from_numpy(array).long().to(job.device) for array in its.values())
        mask = torch.arange(ids.shape[1], device=job.device) < lengths[:, None]
        needed = None if bool(mask.all()) else mask.long()

        def encode() -> "np.ndarray":
            with torch.inference_mode():
                first = model(input_ids=ids, attention_mask=needed).last_hidden_state[:, 0].float()
                return torch.nn.functional.normalize(first).cpu().numpy()

        return encode

    measure(job, f"PyTorch {job.precision}", ready)
