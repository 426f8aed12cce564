"""Which texts Triton's model computes together, and what it computes of them."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from scripts.export_models import text_graph
from scripts.export_models.onnx_graph import Graph
from scripts.export_models.text import write
from scripts.export_models.text_graph import text_inputs
from scripts.export_models.triton_code import triton_module

code = triton_module("m3_embedder", "texts")


def _graph(g: Graph, lengths: str, ids: str) -> Any:
    starts = g.op("CumSum", lengths, g.constant(0), exclusive=1)
    columns = (lengths, g.op("Gather", ids, starts))
    sides = [g.op("Unsqueeze", g.cast(column, TensorProto.FLOAT), g.constant([1])) for column in columns]
    g.op("Concat", *sides, output="embedding", axis=1)
    return g.model(text_inputs(), [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["texts", 2])])


def _written(graph: Callable[[Graph, str, str], Any], folder: Path) -> Path:
    g = Graph()
    write(graph(g, g.cast("lengths", TensorProto.INT64), g.cast("input_ids", TensorProto.INT64)), "fp32", folder)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _written(_graph, tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def model(folder: Path) -> Any:
    return code.TextModel(folder, 1)


def _texts(*lengths: int) -> list[Any]:
    return [np.full(length, number, np.int32) for number, length in enumerate(lengths)]


def test_rows_are_in_the_order_of_the_texts(model: Any) -> None:
    assert model.compute(_texts(900, 3, 500, 2)).tolist() == [[900, 0], [3, 1], [500, 2], [2, 3]]


def test_no_texts_have_no_rows(model: Any) -> None:
    assert model.compute([]).shape == (0, 2)


def test_a_block_without_callers_is_skipped(model: Any) -> None:
    rows = model.compute(_texts(900, 3, 4), lambda texts: 0 not in texts)
    assert rows.tolist() == [[0, 0], [3, 1], [4, 2]]


def _asked(*answers: bool) -> Callable[[Any], bool]:
    left = list(answers)
    return lambda texts: left.pop(0)


def _slow(g: Graph, lengths: str, ids: str) -> Any:
    """As ``_graph``, by way of many products for each token."""
    width, floats = 256, TensorProto.FLOAT
    x = g.op(
        "Mul", g.op("Unsqueeze", g.cast(ids, floats), g.constant([1])), g.constant(np.ones((1, width)), np.float32)
    )
    for number in range(40):
        x = g.op("Relu", g.op("MatMul", x, g.weight(np.eye(width, dtype=np.float32), f"layer.{number}")))
    starts = g.op("CumSum", lengths, g.constant(0), exclusive=1)
    first = g.op("Gather", g.op("Gather", x, starts), g.constant([0]), axis=1)
    g.op("Concat", g.op("Unsqueeze", g.cast(lengths, floats), g.constant([1])), first, output="embedding", axis=1)
    return g.model(text_inputs(), [helper.make_tensor_value_info("embedding", floats, ["texts", 2])])


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return code.TextModel(_written(_slow, tmp_path_factory.mktemp("slow")), 1)


@pytest.mark.parametrize("length", [1, 33, 48])
def test_after_a_cancelled_block_the_next_is_right(slow: Any, length: int) -> None:
    expected = slow.compute(_texts(length)).tolist()
    assert slow.compute(_texts(200_000), _asked(True, *[False] * 100)).tolist() == [[0, 0]]
    assert slow.compute(_texts(length)).tolist() == expected == [[length, 0]]


def test_after_cancelled_texts_the_next_are_right(slow: Any) -> None:
    slow.compute(_texts(12, 12, 12))
    slow.compute(_texts(200_000), _asked(True, *[False] * 100))
    assert slow.compute(_texts(12, 12, 12)).tolist() == [[12, 0], [12, 1], [12, 2]]


def test_a_failed_run_does_not_change_the_next(slow: Any) -> None:
    def fails(texts: Any) -> bool:
        if len(asked) > 1:
            slow._request.cancel()
            slow._request.wait()
        asked.append(texts)
        return True

    asked: list[Any] = []
    slow.compute(_texts(12))
    with pytest.raises(RuntimeError, match="canceled"):
        slow.compute(_texts(200_000), fails)
    assert slow.compute(_texts(12)).tolist() == [[12, 0]]


def test_a_graph_that_failed_to_compile_is_compiled_for_the_next_texts(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = code.TextModel(folder, 1)
    compiled, left = model._processor.compiled, [MemoryError("compiling")]

    def once_short(graph: Path, *, keep: bool) -> Any:
        if left:
            raise left.pop()
        return compiled(graph, keep=keep)

    monkeypatch.setattr(model._processor, "compiled", once_short)
    monkeypatch.setattr(model._request, "start_async", None, raising=False)
    with pytest.raises(TypeError):
        model.compute(_texts(4))
    with pytest.raises(MemoryError):
        model.compute(_texts(4))
    assert model.compute(_texts(4)).tolist() == [[4, 0]]


def _slow_weights(g: Graph, lengths: str, ids: str) -> Any:
    """As ``_slow``; a token that is weighed weighs its id, and the hidden states of others are not computed."""
    width, floats = 256, TensorProto.FLOAT
    pack = text_graph.packing(g, lengths, ids)
    weighed = g.op("Gather", "weighed", pack.text_of)
    read = g.op("Or", weighed, g.op("Equal", pack.positions, g.constant(0)))
    rows = g.op("Reshape", g.op("NonZero", read), g.constant([-1]))
    column = g.op("Unsqueeze", g.cast(g.op("Gather", ids, rows), floats), g.constant([1]))
    x = g.op("Mul", column, g.constant(np.ones((1, width)), np.float32))
    for number in range(40):
        x = g.op("Relu", g.op("MatMul", x, g.weight(np.eye(width, dtype=np.float32), f"layer.{number}")))
    found = g.op("Gather", x, g.constant(0), axis=1)
    at = g.op("Sub", g.op("CumSum", g.cast(read, TensorProto.INT64), g.constant(0)), g.constant(1))
    g.op("Where", weighed, g.op("Gather", found, at), g.constant(0, np.float32), output="token_weights")
    first = g.op("Gather", found, g.op("Gather", at, pack.starts))
    sides = [g.op("Unsqueeze", each, g.constant([1])) for each in (g.cast(lengths, floats), first)]
    g.op("Concat", *sides, output="embedding", axis=1)
    info = helper.make_tensor_value_info
    outputs = [info("embedding", floats, ["texts", 2]), info("token_weights", floats, ["tokens"])]
    return g.model([*text_inputs(), info("weighed", TensorProto.BOOL, ["texts"])], outputs)


@pytest.fixture(scope="module")
def weighing(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return code.TextModel(_written(_slow_weights, tmp_path_factory.mktemp("weighing")), 1)


def _weighed(model: Any, *lengths: int, which: Sequence[bool], wanted: Any = lambda _: True) -> Any:
    texts = [np.arange(1, length + 1, dtype=np.int32) for length in lengths]
    rows, weights = model.weigh(texts, np.array(which), wanted)
    return rows.tolist(), [each.tolist() for each in weights]


def test_tokens_of_the_texts_that_are_weighed_have_weights_in_order(weighing: Any) -> None:
    assert weighing.weighs
    rows, weights = _weighed(weighing, 900, 3, 2, which=[True, False, True])
    assert rows == [[900, 1], [3, 1], [2, 1]]
    assert weights == [list(range(1, 901)), [0, 0, 0], [1, 2]]


def test_a_graph_without_weights_gives_zeros(model: Any) -> None:
    assert not model.weighs
    assert _weighed(model, 2, which=[True])[1] == [[0, 0]]


@pytest.mark.parametrize("length", [1, 2, 3, 12, 36, 48])
@pytest.mark.parametrize("is_weighed", [True, False])
def test_after_a_cancelled_block_the_next_is_weighed_right(weighing: Any, length: int, is_weighed: bool) -> None:
    expected = _weighed(weighing, length, which=[is_weighed])
    cancelled = _weighed(weighing, 60_000, which=[True], wanted=_asked(True, *[False] * 100))
    assert not any(cancelled[1][0])
    assert _weighed(weighing, length, which=[is_weighed]) == expected
    assert expected == ([[length, 1]], [list(range(1, length + 1)) if is_weighed else [0] * length])


def test_an_export_for_cuda_is_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "quartet.json").write_text(json.dumps({"precision": "fp16"}), encoding="utf-8")
    with pytest.raises(ValueError, match="was exported for CUDA"):
        code.TextModel(tmp_path, 1)


blocks = triton_module("m3_embedder", "blocks").blocks


def _of(*lengths: int) -> list[list[int]]:
    return [block.tolist() for block in blocks(np.array(lengths, np.int32))]


@pytest.mark.parametrize("lengths", [(5,), (1,) * 2000, (8192, 3, 500, 500, 2, 769), tuple(range(1, 300))])
def test_every_text_is_in_one_block(lengths: tuple[int, ...]) -> None:
    assert sorted(sum(_of(*lengths), [])) == list(range(len(lengths)))


def test_no_texts_have_no_blocks() -> None:
    assert _of() == []


def test_texts_of_similar_lengths_are_together_shortest_first() -> None:
    assert _of(310, 8, 300, 9, 7) == [[4, 1, 3], [2, 0]]


def test_a_block_has_at_most_768_tokens() -> None:
    assert [len(block) for block in _of(*[100] * 20)] == [7, 7, 6]


def test_a_text_longer_than_a_block_is_one_block() -> None:
    assert _of(5000, 6000) == [[0], [1]]


def test_a_long_text_does_not_pad_many_short_ones() -> None:
    assert _of(250, *[8] * 30) == [list(range(1, 31)), [0]]
