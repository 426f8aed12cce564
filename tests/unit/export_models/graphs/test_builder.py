from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper

from scripts.export_models.graphs import builder
from scripts.export_models.graphs.builder import Graph, save


def _write(path: Path) -> None:
    g = Graph()
    g.op("Add", "x", g.weight(np.arange(400, dtype=np.float32), "w"), output="y")
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [400]) for name in "xy")
    save(g.model([x], [y]), path)


def _answer(path: Path) -> float:
    session = ort.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    (y,) = session.run(None, {"x": np.ones(400, np.float32)})
    return float(y[-1])


def test_small_weights_are_in_the_file(tmp_path: Path) -> None:
    _write(tmp_path / "model.onnx")
    assert [file.name for file in tmp_path.iterdir()] == ["model.onnx"]


def test_large_weights_are_beside_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builder, "_LARGEST_SINGLE_FILE", 1000)
    _write(tmp_path / "model.onnx")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["model.onnx", "model.onnx.data"]
    assert _answer(tmp_path / "model.onnx") == 400


def test_weights_beside_a_model_have_its_permissions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builder, "_LARGEST_SINGLE_FILE", 1000)
    _write(tmp_path / "model.onnx")
    assert len({file.stat().st_mode for file in tmp_path.iterdir()}) == 1


def test_the_weights_of_an_earlier_model_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builder, "_LARGEST_SINGLE_FILE", 1000)
    _write(tmp_path / "model.onnx")
    monkeypatch.undo()
    _write(tmp_path / "model.onnx")
    assert [file.name for file in tmp_path.iterdir()] == ["model.onnx"]
