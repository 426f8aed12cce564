"""The stand-in's modules, which Triton loads from their own folder, and configurations with their models' tensors."""

import importlib
import sys
from typing import Any

from tests.conftest import ROOT

BACKEND = ROOT / "scripts" / "local_triton" / "backends" / "onnxruntime"
sys.path.insert(0, str(BACKEND))
model_config = importlib.import_module("model_config")
batching = importlib.import_module("batching")
session = importlib.import_module("session")
watch = importlib.import_module("watch")

Info = model_config.TensorInfo
INPUTS = [Info("ids", "tensor(int32)", [-1]), Info("lengths", "tensor(int32)", [-1])]
OUTPUTS = [Info("vector", "tensor(float)", [-1, 4])]
RAGGED: dict[str, Any] = {
    "max_batch_size": 8,
    "input": [
        {"name": "ids", "data_type": "TYPE_INT32", "dims": ["-1"], "allow_ragged_batch": True},
        {"name": "lengths", "data_type": "TYPE_INT32", "dims": ["-1"], "allow_ragged_batch": True},
    ],
    "output": [{"name": "vector", "data_type": "TYPE_FP32", "dims": ["-1", "4"]}],
    "batch_output": [
        {"target_name": ["vector"], "kind": "BATCH_SCATTER_WITH_INPUT_SHAPE", "source_input": ["lengths"]}
    ],
}
DENSE_INPUTS = [Info("x", "tensor(float)", [-1, 3])]
DENSE_OUTPUTS = [Info("y", "tensor(float)", [-1, 2])]
DENSE: dict[str, Any] = {
    "max_batch_size": 4,
    "input": [{"name": "x", "data_type": "TYPE_FP32", "dims": ["3"]}],
    "output": [{"name": "y", "data_type": "TYPE_FP32", "dims": ["2"]}],
}
