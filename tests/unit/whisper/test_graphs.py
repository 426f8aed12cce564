import fcntl
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import openvino as ov
import pytest
from openvino import opset13 as ops

from scripts.export_models.triton_code import recognizer_module
from tests.processors import exact_int8

graphs = recognizer_module("graphs")
compilations = recognizer_module("compilations")
_FLAGS = ["fpu", "fp"]


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    return _written(tmp_path / "graph.xml", 2.0)


def _written(path: Path, factor: float) -> Path:
    """A graph that multiplies its input by a weight."""
    given = ops.parameter([-1], np.float32)
    ov.save_model(
        ov.Model([ops.multiply(given, np.array([factor], np.float32))], [given]), path, compress_to_fp16=False
    )
    return path


def _kept(compiled: Any) -> bool:
    return bool(compiled.get_property("LOADED_FROM_CACHE"))


def test_a_graph_is_compiled_for_the_next_start(graph: Path) -> None:
    first, second = (graphs.Processor(threads, _FLAGS).compiled(graph) for threads in (1, 2))
    assert (_kept(first), _kept(second)) == (False, True)


def test_a_graph_with_other_weights_is_compiled_again(graph: Path) -> None:
    graphs.Processor(1, _FLAGS).compiled(graph)
    compiled = graphs.Processor(1, _FLAGS).compiled(_written(graph, 3.0))
    assert not _kept(compiled)
    assert compiled(np.ones(1, np.float32))[0].tolist() == [3]


def test_a_graph_is_compiled_again_for_other_arithmetic(graph: Path) -> None:
    graphs.Processor(1, _FLAGS).compiled(graph)
    assert not _kept(graphs.Processor(1, _FLAGS, exact=True).compiled(graph))
    assert not _kept(graphs.Processor(1, ["amx_of_next_year"]).compiled(graph))


def test_a_graph_is_compiled_again_for_another_processor(
    graph: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    graphs.Processor(1, _FLAGS).compiled(graph)
    (tmp_path / "cpuinfo").write_text("flags : fpu fp amx_of_next_year\n", encoding="utf-8")
    monkeypatch.setattr(graphs, "_CPUINFO", tmp_path / "cpuinfo")
    assert not _kept(graphs.Processor(1, _FLAGS).compiled(graph))


def test_a_graph_that_compiles_quickly_is_not_cached(graph: Path) -> None:
    graphs.Processor(1, _FLAGS).compiled(graph)
    graphs.Processor(1, _FLAGS).compiled(graph, keep=False)
    assert not graph.with_suffix(".compiled").exists()


def test_a_graph_is_compiled_if_the_cache_cannot_be_made(graph: Path) -> None:
    graph.with_suffix(".compiled").touch()
    assert not _kept(graphs.Processor(1, _FLAGS).compiled(graph))


def test_a_graph_is_compiled_if_the_cache_can_be_neither_read_nor_removed(
    graph: Path, monkeypatch: pytest.MonkeyPatch
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


@pytest.mark.parametrize("bfloat16", [True, False])
def test_keys_and_values_have_the_processors_precision(
    small_exported: Path, monkeypatch: pytest.MonkeyPatch, bfloat16: bool
) -> None:
    has = ["FP32", "BF16"] if bfloat16 else ["FP32"]
    monkeypatch.setattr(graphs.ov.Core, "get_property", lambda *_: has)
    processor = graphs.Processor(1, _FLAGS)
    ports = processor.compiled(small_exported / graphs.ENCODER, keep=False).outputs
    kinds = {port.any_name: port.element_type.get_type_name() for port in ports}
    assert kinds.pop("encoded") == "f32"
    assert set(kinds.values()) == {"bf16" if bfloat16 else "f32"} == {processor.handed.get_type_name()}


@pytest.mark.parametrize(("exact", "bits"), [(False, {16, 32}), (True, {32})])
def test_the_cached_keys_and_values_have_the_precision_of_the_computation(
    graph: Path, exact: bool, bits: set[int]
) -> None:
    compiled = graphs.Processor(1, _FLAGS, exact=exact).compiled(graph)
    assert compiled.get_property("KV_CACHE_PRECISION").bitwidth in bits
    if exact:
        assert compiled.get_property("INFERENCE_PRECISION_HINT") == ov.Type.f32


@exact_int8
def test_a_processor_without_exact_products_of_integers_computes_the_same_in_floating_point(
    small_exported: Path,
) -> None:
    features = np.random.default_rng(0).normal(0, 0.1, (1, 128, 800)).astype(np.float32)
    exact, other = (
        graphs.Processor(2, flags).compiled(small_exported / graphs.ENCODER, keep=False)(features)["encoded"]
        for flags in (_FLAGS, ["amx_of_next_year"])
    )
    assert np.linalg.norm(exact - other) < 0.1 * np.linalg.norm(exact)
    assert not np.array_equal(exact, other)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "graph.compiled"


def _compile(folder: Path, name: str, *, damaged: bool = False) -> None:
    """As OpenVINO, which writes what it does not find whole, for its own user."""
    with compilations.kept(folder) as settings:
        path = Path(settings["CACHE_DIR"]) / name
        if damaged:
            path.unlink()
        if not path.exists():
            path.touch(mode=0o400)


def test_a_new_compilation_replaces_the_old_one(folder: Path) -> None:
    _compile(folder, "1.blob")
    _compile(folder, "2.blob")
    assert [path.name for path in folder.iterdir()] == ["2.blob"]


def test_a_cached_graph_stays(folder: Path) -> None:
    _compile(folder, "1.blob")
    _compile(folder, "1.blob")
    assert [path.name for path in folder.iterdir()] == ["1.blob"]


@pytest.mark.parametrize("damaged", [False, True])
def test_other_users_may_read_it(folder: Path, damaged: bool) -> None:
    _compile(folder, "1.blob")
    _compile(folder, "1.blob", damaged=damaged)
    assert (folder / "1.blob").stat().st_mode & 0o777 == 0o644


def _lock(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(descriptor)


def test_one_process_compiles_at_a_time(folder: Path) -> None:
    with compilations.kept(folder), pytest.raises(BlockingIOError):
        _lock(folder)
    _lock(folder)


def test_waiting_for_a_frozen_process_ends(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compilations, "_WAIT_SECONDS", 0.0)
    with compilations.kept(folder), pytest.raises(TimeoutError), compilations.kept(folder):
        pass
