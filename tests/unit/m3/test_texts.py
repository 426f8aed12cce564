"""What Triton's model computes of texts, by a graph whose answer to a text is its length, and its first token."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from scripts.export_models.graphs.builder import Graph
from scripts.export_models.graphs.served import served
from scripts.export_models.text.encoder import text_inputs
from scripts.export_models.text.served import write

code = served("m3_embedder", "texts")


def _graph(g: Graph, lengths: str, ids: str) -> Any:
    starts = g.op("CumSum", lengths, g.constant(0), exclusive=1)
    columns = (lengths, g.op("Gather", ids, starts))
    sides = [g.op("Unsqueeze", g.cast(column, TensorProto.FLOAT), g.constant([1])) for column in columns]
    g.op("Concat", *sides, output="embedding", axis=1)
    return g.model(text_inputs(), [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["texts", 2])])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, g = tmp_path_factory.mktemp("model"), Graph()
    graph = _graph(g, g.cast("lengths", TensorProto.INT64), g.cast("input_ids", TensorProto.INT64))
    write(graph, "fp32", folder)
    return folder


@pytest.fixture(scope="module")
def model(folder: Path) -> Any:
    return code.TextModel(folder, 1)


def _texts(*lengths: int) -> list[Any]:
    return [np.full(length, number, np.int32) for number, length in enumerate(lengths)]


def test_rows_are_in_the_order_of_the_texts(model: Any) -> None:
    assert model.compute(_texts(900, 3, 500, 2)).tolist() == [[900, 0], [3, 1], [500, 2], [2, 3]]


def test_of_no_texts_there_are_no_rows(model: Any) -> None:
    assert model.compute([]).shape == (0, 2)


def test_a_block_that_nobody_waits_for_is_left_out(model: Any) -> None:
    rows = model.compute(_texts(900, 3, 4), lambda texts: 0 not in texts)
    assert rows.tolist() == [[0, 0], [3, 1], [4, 2]]


class _Endless:
    """OpenVINO's request, which is never done before it is cancelled."""

    def __init__(self) -> None:
        self.cancelled = False

    def start_async(self, inputs: Any) -> None:
        self.inputs = inputs

    def wait_for(self, milliseconds: int) -> bool:
        return False

    def cancel(self) -> None:
        self.cancelled = True

    def wait(self) -> None:
        raise RuntimeError("Infer Request was canceled")


def _asked(*answers: bool) -> Callable[[Any], bool]:
    left = list(answers)
    return lambda texts: left.pop(0)


def test_a_block_is_broken_off_as_soon_as_nobody_waits(folder: Path) -> None:
    model, request = code.TextModel(folder, 1), _Endless()
    model._request = request
    assert model.compute(_texts(8192), _asked(True, True, False)).tolist() == [[0, 0]]
    assert request.cancelled


def test_after_a_block_was_broken_off_the_next_is_right(model: Any) -> None:
    model.compute(_texts(8192), _asked(True, *[False] * 100))
    assert model.compute(_texts(4)).tolist() == [[4, 0]]


def test_an_export_for_cuda_is_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "quartet.json").write_text(json.dumps({"precision": "fp16"}), encoding="utf-8")
    with pytest.raises(ValueError, match="was exported for CUDA"):
        code.TextModel(tmp_path, 1)
