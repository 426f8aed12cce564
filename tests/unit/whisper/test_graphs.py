from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import openvino as ov
import pytest
from openvino import opset13 as ops

from scripts.export_models.whisper.served import recognizer_module

_FLAGS = ["fpu", "fp"]


@pytest.fixture(scope="module")
def graphs() -> ModuleType:
    return recognizer_module("graphs")


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    return _written(tmp_path / "graph.xml", 2.0)


def _written(path: Path, factor: float) -> Path:
    """A graph that multiplies what it is given by a weight."""
    given = ops.parameter([-1], np.float32)
    ov.save_model(
        ov.Model([ops.multiply(given, np.array([factor], np.float32))], [given]), path, compress_to_fp16=False
    )
    return path


def _kept(compiled: Any) -> bool:
    return bool(compiled.get_property("LOADED_FROM_CACHE"))


def test_a_graph_is_compiled_for_the_next_start(graphs: ModuleType, graph: Path) -> None:
    first, second = (graphs.Processor(threads, _FLAGS).compiled(graph) for threads in (1, 2))
    assert (_kept(first), _kept(second)) == (False, True)


def test_a_graph_whose_weights_have_changed_is_compiled_anew(graphs: ModuleType, graph: Path) -> None:
    graphs.Processor(1, _FLAGS).compiled(graph)
    compiled = graphs.Processor(1, _FLAGS).compiled(_written(graph, 3.0))
    assert not _kept(compiled)
    assert compiled(np.ones(1, np.float32))[0].tolist() == [3]


def test_a_graph_is_compiled_anew_for_other_arithmetic(graphs: ModuleType, graph: Path) -> None:
    graphs.Processor(1, _FLAGS).compiled(graph)
    assert not _kept(graphs.Processor(1, _FLAGS, exact=True).compiled(graph))
    assert not _kept(graphs.Processor(1, ["amx_of_next_year"]).compiled(graph))


def test_a_graph_is_compiled_anew_for_another_processor(
    graphs: ModuleType, graph: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    graphs.Processor(1, _FLAGS).compiled(graph)
    (tmp_path / "cpuinfo").write_text("flags : fpu fp amx_of_next_year\n", encoding="utf-8")
    monkeypatch.setattr(graphs, "_CPUINFO", tmp_path / "cpuinfo")
    assert not _kept(graphs.Processor(1, _FLAGS).compiled(graph))


def test_what_is_quickly_compiled_takes_no_room(graphs: ModuleType, graph: Path) -> None:
    graphs.Processor(1, _FLAGS).compiled(graph)
    graphs.Processor(1, _FLAGS).compiled(graph, keep=False)
    assert not graph.with_suffix(".compiled").exists()


def test_a_graph_is_compiled_where_nothing_can_be_kept(graphs: ModuleType, graph: Path) -> None:
    graph.with_suffix(".compiled").touch()
    assert not _kept(graphs.Processor(1, _FLAGS).compiled(graph))


def test_a_graph_is_compiled_where_what_is_kept_can_be_neither_used_nor_removed(
    graphs: ModuleType, graph: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    processor = graphs.Processor(1, _FLAGS)
    compile_model = processor._core.compile_model

    def compiles(model: Any, device: str, settings: dict[str, Any]) -> Any:
        """As OpenVINO with what it cannot read, in a folder that it cannot write to."""
        if "CACHE_DIR" in settings:
            raise RuntimeError("filesystem error: cannot remove: Permission denied")
        return compile_model(model, device, settings)

    monkeypatch.setattr(
        processor, "_core", SimpleNamespace(read_model=processor._core.read_model, compile_model=compiles)
    )
    assert processor.compiled(graph)(np.ones(1, np.float32))[0].tolist() == [2]
