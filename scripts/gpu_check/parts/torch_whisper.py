"""The same Whisper in PyTorch, by transformers: something to compare with, nothing that the product runs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from scripts.gpu_check.found import no_cuda_in_torch, require
from scripts.gpu_check.job import Job
from scripts.gpu_check.parts.whisper import MODULES, by_ctranslate2

if TYPE_CHECKING:
    import numpy as np

_LIMITS = {"cuda": 5e-3, "cpu": 1e-4}


def run(job: Job) -> None:
    """With PyTorch's own attention, which takes its flash attention in the encoder."""
    require(job.device, no_cuda_in_torch, modules=MODULES)
    import torch
    from transformers import GenerationConfig, WhisperForConditionalGeneration
    from transformers.generation import GenerationMixin
    from transformers.modeling_outputs import BaseModelOutput

    from scripts.benchmark.lookalikes.whisper import TOKENS
    from scripts.gpu_check.lookalikes import whisper_source
    from scripts.gpu_check.windows import Whisper, answers, measure

    dtype = torch.float16 if job.half else torch.float32
    model = WhisperForConditionalGeneration.from_pretrained(whisper_source(job), attn_implementation="sdpa")
    model = model.to(job.device, dtype).eval()
    its = model.generation_config
    start = [its.decoder_start_token_id, its.lang_to_id["<|en|>"], its.task_to_id["transcribe"]]
    start.append(its.no_timestamps_token_id)
    plain = GenerationConfig(eos_token_id=its.eos_token_id, pad_token_id=its.pad_token_id, max_new_tokens=TOKENS + 1)

    def encode(features: "np.ndarray") -> Any:
        with torch.inference_mode():
            encoded = model.model.encoder(torch.from_numpy(features).to(job.device, dtype)).last_hidden_state
        if job.device == "cuda":
            torch.cuda.synchronize()
        return encoded

    def decode(encoded: Any) -> Sequence[Sequence[int]]:
        tasks = torch.tensor([start] * len(encoded), device=job.device)
        outputs = BaseModelOutput(last_hidden_state=encoded)
        with torch.inference_mode():
            rows = GenerationMixin.generate(
                model, encoder_outputs=outputs, decoder_input_ids=tasks, generation_config=plain, do_sample=False
            ).tolist()
        return [[token for token in row[len(start) :] if token != its.eos_token_id] for row in rows]

    side = f"PyTorch {job.precision}"
    reference = answers(by_ctranslate2(job, "cpu", "float32", 0.0))
    measure(job, Whisper(side, encode, lambda rows: rows.float().cpu().numpy(), decode, _LIMITS[job.device]), reference)
