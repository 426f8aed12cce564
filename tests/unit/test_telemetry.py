"""What reports its use by default is told not to before it is loaded, or is not there."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

# Its reports wait in the user's cache, with the name that it gives the machine.
SESSION = """
import onnxruntime as ort
from onnx import helper
tensors = [helper.make_tensor_value_info(name, 1, [1]) for name in "xy"]
graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", tensors[:1], tensors[1:])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
ort.InferenceSession(model.SerializeToString())
"""


def _left_at_home(home: Path, first: str) -> list[Path]:
    quiet = ("CI", "ORT_RUNNING_UNIT_TESTS", "ORT_DISABLE_TELEMETRY", "XDG_CACHE_HOME")
    environ = {name: value for name, value in os.environ.items() if name not in quiet}
    environ |= {"HOME": str(home), "PYTHONPATH": ""}
    subprocess.run([sys.executable, "-c", first + SESSION], cwd=ROOT, env=environ, check=True)
    return list(home.rglob("*onnxruntime*"))


def test_onnx_runtime_reports_by_default(tmp_path: Path) -> None:
    assert _left_at_home(tmp_path, "")


@pytest.mark.parametrize(
    "module", ["frontend.audio.speech_windows", "scripts.export_models.voice", "scripts.local_triton.server"]
)
def test_it_reports_nothing_of_the_product(tmp_path: Path, module: str) -> None:
    assert not _left_at_home(tmp_path, f"import {module}")


def test_openvinos_telemetry_is_not_installed() -> None:
    assert importlib.util.find_spec("openvino") is not None
    assert importlib.util.find_spec("openvino_telemetry") is None
