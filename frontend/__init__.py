"""The HTTP frontend: bytes into tensors for Triton, tensors into bytes for OpenAI clients."""

import os

# ONNX Runtime sends usage data to Microsoft unless this variable is set before it is loaded.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
