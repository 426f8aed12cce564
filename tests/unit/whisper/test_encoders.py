from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from scripts.export_models.whisper.served import recognizer_module
from tests.processors import exact_int8

FLAGS = ["fpu", "fp"]


@pytest.fixture(scope="module")
def graphs() -> ModuleType:
    return recognizer_module("graphs")


def _features(seconds: int) -> Any:
    return np.random.default_rng(0).normal(size=(1, 80, 100 * seconds)).astype(np.float32)


def _encoded(graphs: ModuleType, exported: Path, flags: list[str], seconds: int = 2) -> Any:
    encoder = recognizer_module("encoders").GraphEncoder(graphs.Processor(1, flags).compiled(exported / graphs.ENCODER))
    (encoded,) = encoder.encode(_features(seconds))
    return encoded


def test_a_window_is_encoded_with_what_the_decoder_attends_to(graphs: ModuleType, exported: Path) -> None:
    encoded = _encoded(graphs, exported, FLAGS)
    assert encoded.output.shape == (1, 100, 128)
    shapes = {name: array.shape for name, array in encoded.attended.items()}
    assert shapes == {f"{part}.{layer}": (1, 4, 100, 32) for layer in (0, 1) for part in ("keys", "values")}


@exact_int8
def test_a_processor_without_exact_products_of_integers_computes_the_same_in_floating_point(
    graphs: ModuleType, exported: Path
) -> None:
    exact, other = (_encoded(graphs, exported, flags).output for flags in (FLAGS, ["amx_of_next_year"]))
    assert np.linalg.norm(exact - other) < 0.03 * np.linalg.norm(exact)
    assert not np.array_equal(exact, other)


def test_a_graph_for_windows_of_one_length_encodes_them_alike(
    graphs: ModuleType, exported: Path, exported_for_one_length: Path
) -> None:
    any_length, one_length = (
        _encoded(graphs, folder, FLAGS, seconds=8).output for folder in (exported, exported_for_one_length)
    )
    # In bfloat16 they round elsewhere, and what is rounded to int8 behind that jumps by a step.
    assert np.linalg.norm(any_length - one_length) < 0.02 * np.linalg.norm(any_length)


@dataclass
class _Counted:
    """A compiled graph, and the shapes it was run with."""

    graph: Any
    shapes: list[tuple[int, ...]] = field(default_factory=list)

    def input(self) -> Any:
        return self.graph.input()

    def __call__(self, features: Any) -> Any:
        self.shapes.append(features.shape)
        return self.graph(features)


def test_a_graph_for_any_length_runs_before_the_first_caller_comes(graphs: ModuleType, exported: Path) -> None:
    graph = _Counted(graphs.Processor(1, FLAGS).compiled(exported / graphs.ENCODER))
    recognizer_module("encoders").GraphEncoder(graph)
    assert graph.shapes == [(1, 80, 100)]


@pytest.mark.parametrize("bfloat16", [True, False])
def test_keys_and_values_are_handed_over_in_what_the_processor_computes_in(
    graphs: ModuleType, exported: Path, monkeypatch: pytest.MonkeyPatch, bfloat16: bool
) -> None:
    has = ["FP32", "BF16"] if bfloat16 else ["FP32"]
    monkeypatch.setattr(graphs.ov.Core, "get_property", lambda *_: has)
    processor = graphs.Processor(1, FLAGS)
    kinds = {
        port.any_name: port.element_type.get_type_name()
        for port in processor.compiled(exported / "encoder.xml").outputs
    }
    assert kinds.pop("encoded") == "f32"
    assert set(kinds.values()) == {"bf16" if bfloat16 else "f32"} == {processor.handed.get_type_name()}
