"""What is written of a text model, for processors and for CUDA."""

from pathlib import Path

import openvino as ov
from onnx import ModelProto

from scripts.export_models.text import models
from scripts.export_models.text.served import write
from tests.unit.export_models.text.small import xlmr


def _graph() -> ModelProto:
    return models.embedder(models.checkpoint_of(xlmr()), "fp32", "cls")


def test_for_a_processor_it_is_simplified(tmp_path: Path) -> None:
    write(_graph(), "fp32", tmp_path)
    kinds = [node.get_type_name() for node in ov.Core().read_model(tmp_path / "texts.xml").get_ops()]
    # How ONNX's matrix products come to be multiplied by one.
    assert kinds.count("MatMul") > kinds.count("Multiply")


def test_nothing_of_a_graph_for_the_other_kind_stays(tmp_path: Path) -> None:
    files = []
    for precision in ("fp32", "fp16", "fp32"):
        write(_graph(), precision, tmp_path)
        files.append(sorted(path.name for path in tmp_path.iterdir()))
    assert files == [["quartet.json", "texts.bin", "texts.xml"], ["model.onnx", "quartet.json"], files[0]]


def test_weights_are_not_halved(tmp_path: Path) -> None:
    write(_graph(), "fp32", tmp_path)
    numbers = sum(weight.numel() for weight in xlmr().parameters())
    # But for the pooler's, which is left out.
    assert (tmp_path / "texts.bin").stat().st_size > 0.9 * 4 * numbers
