import os
import sys
from pathlib import Path

import pytest

from scripts.local_triton.assemble import assemble_backends, environment
from scripts.local_triton.checks import find_wheel


def test_the_backends_are_triton_pythons_with_this_interpreters_stub_and_the_stand_in(tmp_path: Path) -> None:
    (tmp_path / "backends" / "of-an-earlier-run").mkdir(parents=True)
    folder = assemble_backends(find_wheel(), tmp_path / "backends")
    assert sorted(path.name for path in folder.iterdir()) == ["onnxruntime", "python"]
    assert os.access(folder / "python" / "triton_python_backend_stub", os.X_OK)
    assert (folder / "onnxruntime" / "model.py").is_file()


def test_the_server_finds_its_libraries_and_this_interpreter_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin")
    monkeypatch.setenv("LD_LIBRARY_PATH", "/opt/lib")
    wheel, interpreter = find_wheel(), Path(sys.executable)
    values = environment(wheel, Path("/python/lib"), interpreter)
    assert values["PATH"] == f"{interpreter.parent}:/usr/bin"
    assert values["LD_LIBRARY_PATH"] == f"/python/lib:{wheel.libraries}:/opt/lib"


def test_the_server_has_the_variables_of_every_triton_unless_they_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setenv("ORT_DISABLE_TELEMETRY", "0")
    values = environment(find_wheel(), Path("/python/lib"), Path(sys.executable))
    assert (values["OMP_NUM_THREADS"], values["ORT_DISABLE_TELEMETRY"]) == ("1", "0")
