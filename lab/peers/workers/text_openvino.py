"""OpenVINO in process, texts one by one: <checkpoint> <threads>.

A task is a list of [text] or [query, document].

NNCF quantises the model statically, calibrated on the task's first texts; the rest computes in bfloat16.
"""

import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import nncf
import numpy as np
import openvino
from line_server import serve
from optimum.intel import OVModelForFeatureExtraction
from tokenizers import Tokenizer

_CALIBRATED_ON = 64
checkpoint, threads = Path(sys.argv[1]), sys.argv[2]
tokenizer = Tokenizer.from_file(str(checkpoint / "tokenizer.json"))
core = openvino.Core()
model = OVModelForFeatureExtraction.from_pretrained(checkpoint, export=True, compile=False, load_in_8bit=False).model


def _inputs(text: Sequence[str]) -> dict[str, np.ndarray]:
    ids = np.array([tokenizer.encode(*text).ids], np.int64)
    return {"input_ids": ids, "attention_mask": np.ones_like(ids)}


@cache
def _compiled(*texts: Sequence[str]) -> openvino.CompiledModel:
    """Compiled once, because a worker gets the same task in each run."""
    data = nncf.Dataset([_inputs(text) for text in texts])
    quantised = nncf.quantize(model, data, model_type=nncf.ModelType.TRANSFORMER, subset_size=_CALIBRATED_ON)
    options = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "bf16"}
    return core.compile_model(quantised, "CPU", options)


def work(texts: list[list[str]]) -> np.ndarray:
    compiled = _compiled(*map(tuple, texts[:_CALIBRATED_ON]))
    return np.stack([compiled(_inputs(text))[0][0, 0] for text in texts])


serve(work)
