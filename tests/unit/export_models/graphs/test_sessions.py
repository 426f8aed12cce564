"""A model on an ONNX Runtime of another version, here this one in an interpreter of its own."""

import sys
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

from scripts.export_models.checkpoints import SourceError
from scripts.export_models.graphs.builder import Graph, save
from scripts.export_models.graphs.runtimes import OtherRuntime
from scripts.export_models.graphs.sessions import elsewhere


@pytest.fixture
def doubling(tmp_path: Path) -> Path:
    g = Graph()
    g.op("Add", "x", "x", output="y")
    sides = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n"]) for name in "xy"]
    save(g.model(sides[:1], sides[1:]), tmp_path / "model.onnx")
    return tmp_path / "model.onnx"


def _runtime(folder: Path, program: str) -> OtherRuntime:
    runtime = OtherRuntime("1.19.2", folder)
    runtime.python.parent.mkdir(parents=True)
    runtime.python.write_text(f"#!/bin/sh\n{program}\n", encoding="utf-8")
    runtime.python.chmod(0o755)
    return runtime


def test_a_model_answers_there_as_often_as_it_is_asked(tmp_path: Path, doubling: Path) -> None:
    with elsewhere(_runtime(tmp_path, f'exec {sys.executable} "$@"'), doubling, 1) as infer:
        assert [infer({"x": np.array([value], np.float32)}).tolist() for value in (2, 3)] == [[4], [6]]


def test_one_that_cannot_be_loaded_there_is_a_sentence(tmp_path: Path, doubling: Path) -> None:
    with (
        pytest.raises(SourceError, match=r"does not run on ONNX Runtime 1\.19\.2"),
        elsewhere(_runtime(tmp_path, "exit 1"), doubling, 1) as infer,
    ):
        infer({"x": np.zeros(1, np.float32)})
