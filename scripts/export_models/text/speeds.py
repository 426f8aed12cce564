"""How fast this processor computes a text model in each precision: two layers of its shape, with random weights."""

import copy
import json
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import openvino
import torch
from numpy.typing import NDArray
from transformers import AutoModel

from scripts.export_models.text import calibration, model_folder, models
from scripts.export_models.text.encoder import Precision
from scripts.export_models.text.quantise import nearest

_LAYERS, _WORDS = 2, 1000
# Tokens of the texts of a run: as many together as a block that is served has.
_LENGTHS = (12, 24, 48, 96, 192, 384)
# Runs of each precision in turn, of which the fastest counts.
_ROUNDS = 15
# One thread's processor time: how busy the machine is hardly changes it.
_THREADS = 1

Ids = Sequence[NDArray[np.int32]]


def remembered(memory: Path, config: Any, precisions: Sequence[Precision]) -> dict[str, float]:
    """What ``measure`` gives, kept in the file ``memory``, so that models of one shape have the same precision."""
    shape = [config.hidden_size, config.intermediate_size, config.num_attention_heads, config.model_type]
    name = json.dumps([shape, list(precisions), sorted(_processor()), openvino.__version__])
    try:
        known: dict[str, dict[str, float]] = json.loads(memory.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        known = {}
    if name not in known:
        known[name] = measure(config, precisions)
        memory.write_text(json.dumps(known), encoding="utf-8")
    return known[name]


def _processor() -> set[str]:
    """The names of the processor's models."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    return {line for line in lines if line.startswith(("model name", "CPU part"))}


def measure(config: Any, precisions: Sequence[Precision]) -> dict[str, float]:
    """Seconds of a run in each of the precisions, for an encoder with the Hugging Face ``config``."""
    encoder, texts = _encoder(config), _texts(config)
    trained = replace(models.checkpoint_of(encoder, calibration.calibrate(encoder, texts)), rounding=nearest)
    with tempfile.TemporaryDirectory() as folder:
        runs = {}
        for precision in precisions:
            target = Path(folder, precision)
            target.mkdir()
            model_folder.write(models.embedder(trained, precision, "mean"), precision, target)
            runs[precision] = model_folder.session(target, _THREADS)
        seconds = dict.fromkeys(map(str, precisions), float("inf"))
        for _ in range(_ROUNDS):
            for precision, run in runs.items():
                started = time.process_time()
                run(list(texts))
                seconds[precision] = min(seconds[precision], time.process_time() - started)
    return seconds


def _encoder(config: Any) -> Any:
    small = copy.deepcopy(config)
    small.num_hidden_layers, small.vocab_size = _LAYERS, _WORDS
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return AutoModel.from_config(small).float().eval()


def _texts(config: Any) -> Ids:
    rng = np.random.default_rng(0)
    return [rng.integers(config.pad_token_id + 1, _WORDS, length).astype(np.int32) for length in _LENGTHS]
