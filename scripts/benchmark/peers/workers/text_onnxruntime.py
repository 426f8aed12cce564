"""ONNX Runtime's own fusions with dynamic int8, texts one by one: <export> <threads>.

A task is a list of [text] or [query, document].
"""

import shutil
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from line_server import serve
from onnxruntime.quantization import quantize_dynamic
from onnxruntime.transformers.optimizer import optimize_model
from tokenizers import Tokenizer

exported, threads = Path(sys.argv[1]), int(sys.argv[2])
# Not in the same folder, where infinity looks for its graph.
folder = exported.with_name(f"{exported.name}-fused")
partial = folder.with_suffix(".partial")
if not folder.exists():
    # What a run that was broken off has left would be added to.
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    its = optimize_model(str(exported / "model.onnx"), "bert", num_heads=16, hidden_size=1024)
    its.save_model_to_file(str(partial / "fused.onnx"), use_external_data_format=True)
    # Behind fused nodes it finds no types.
    untyped = {"DefaultTensorType": onnx.TensorProto.FLOAT}
    quantize_dynamic(
        partial / "fused.onnx", partial / "quantised.onnx", use_external_data_format=True, extra_options=untyped
    )
    partial.rename(folder)
tokenizer = Tokenizer.from_file(str(exported / "tokenizer.json"))
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = threads
session = onnxruntime.InferenceSession(folder / "quantised.onnx", options, ["CPUExecutionProvider"])


def _one(text: list[str]) -> np.ndarray:
    ids = np.array([tokenizer.encode(*text).ids], np.int64)
    (hidden,) = session.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids)})
    return hidden[0, 0]


serve(lambda texts: np.stack([_one(text) for text in texts]))
