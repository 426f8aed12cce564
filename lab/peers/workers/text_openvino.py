"""OpenVINO in process, texts one by one: <checkpoint> <threads>.

A task is a list of [text] or [query, document].

The model is quantised after training by NNCF, statically, calibrated on the task's first texts; what is not quantised
is in bfloat16.
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
    """Made once, since a worker is given the same task again and again."""
    data = nncf.Dataset([_inputs(text) for text in texts])
    its = nncf.quantize(model, data, model_type=nncf.ModelType.TRANSFORMER, subset_size=_CALIBRATED_ON)
    options = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "bf16"}
    return core.compile_model(its, "CPU", options)


def work(texts: list[list[str]]) -> np.ndarray:
    compiled = _compiled(*map(tuple, texts[:_CALIBRATED_ON]))
    return np.stack([compiled(_inputs(text))[0][0, 0] for text in texts])


serve(work)
