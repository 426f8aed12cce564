"""The HTTP frontend: bytes into tensors for Triton, tensors into bytes for OpenAI clients."""

import os

# ONNX Runtime tells Microsoft of its use, unless this stands in the environment before it is loaded.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
