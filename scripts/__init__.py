"""What runs, exports and measures the product; none of it is part of a deployment but the export."""

import os

# ONNX Runtime tells Microsoft of its use, unless this stands in the environment before it is loaded. What is started
# from here, a local Triton for one, inherits it.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
