"""Whisper as the product runs it on a GPU: by CTranslate2, encoder output brought to the processor and back."""

import json
from typing import TYPE_CHECKING

from scripts.gpu_check.found import no_cuda_in_ctranslate2, require
from scripts.gpu_check.job import Job

if TYPE_CHECKING:
    from scripts.gpu_check.windows import Whisper

MODULES = ("ctranslate2", "openvino", "tokenizers", "torch", "transformers")
# How far the encoder of each compute type may be from float32, relative to its size. Int8's own error is 0.018.
COMPUTE_TYPES = {
    "cuda": {"float16": 5e-3, "int8_float16": 3e-2},
    "cpu": {"float32": 1e-4, "int8_float32": 3e-2},
}


def run(job: Job) -> None:
    """float16, which the product's configuration has, and int8 beside it; on a processor in float32 for both."""
    require(job.device, no_cuda_in_ctranslate2, modules=MODULES)
    from scripts.gpu_check.windows import answers, measure

    wanted = answers(by_ctranslate2(job, "cpu", "float32", 0.0))
    for compute_type, limit in COMPUTE_TYPES[job.device].items():
        measure(job, by_ctranslate2(job, job.device, compute_type, limit), wanted)


def by_ctranslate2(job: Job, device: str, compute_type: str, limit: float) -> "Whisper":
    """The product's own use of CTranslate2."""
    import numpy as np

    from scripts.benchmark.lookalikes.whisper import TOKENS
    from scripts.export_models.whisper.served import recognizer_module
    from scripts.gpu_check.lookalikes import whisper_converted
    from scripts.gpu_check.windows import Whisper
    from scripts.machine import processors

    folder = whisper_converted(job)
    settings = json.loads((folder / "quartet.json").read_text(encoding="utf-8"))
    tokens = recognizer_module("tokens").Tokens(folder, settings)
    engine = recognizer_module("ctranslate_engine").CTranslateEngine(
        folder, tokens, 1, device=device, device_index=0, compute_type=compute_type, threads=processors()
    )
    # The look-alike says one letter after the other.
    prompt = tokens.task("en")
    return Whisper(
        f"CTranslate2 {compute_type}",
        engine.encode,
        lambda encoded: np.concatenate([window.output for window in encoded]).astype(np.float32),
        lambda encoded: [its.tokens for its in engine.decode(encoded, [prompt] * len(encoded), TOKENS + 1, 0.0)],
        limit,
    )
