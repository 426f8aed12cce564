"""Runs, exports and measures the product. Only the export is part of a deployment."""

import os

# ONNX Runtime sends usage data to Microsoft unless this is set before it is loaded. Child processes inherit it.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
