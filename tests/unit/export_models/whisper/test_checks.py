"""What an exported Whisper is held to, and that graphs which are wrong by little do not pass."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
import pytest
import torch
from numpy.typing import NDArray
from openvino import opset15 as op

from scripts.export_models.graphs.parity import Check
from scripts.export_models.whisper import checks, export
from scripts.export_models.whisper.checks import compare, sentences_for, spoken_windows
from tests.unit.whisper.conftest import CHECKPOINT

Change = Callable[[NDArray[Any]], NDArray[Any]]


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("export") / "int8"
    export.convert(CHECKPOINT, folder, "int8", graphs=True)
    return folder


@pytest.fixture
def copied(exported: Path, tmp_path: Path) -> Path:
    return shutil.copytree(exported, tmp_path / "int8")


def _changed(folder: Path, chosen: Callable[[NDArray[Any]], bool], change: Change, most: int) -> None:
    """Change the first ``most`` constants of the encoder's graph that are ``chosen`` by their content."""
    graph = ov.Core().read_model(folder / "encoder.xml")
    constants = [node for node in graph.get_ordered_ops() if node.get_type_name() == "Constant" and chosen(node.data)]
    for constant in constants[:most]:
        changed = op.constant(change(constant.data).astype(constant.data.dtype))
        constant.output(0).replace(changed.output(0))
    ov.save_model(graph, folder / "changed.xml", compress_to_fp16=False)
    for suffix in (".xml", ".bin"):
        (folder / f"changed{suffix}").replace(folder / f"encoder{suffix}")


def _encoder(folder: Path) -> Check:
    return compare(CHECKPOINT, folder, "whisper_turbo", "int8", spoken=1)[0]


def _is_product(array: NDArray[Any]) -> bool:
    return array.dtype == np.int8 and array.ndim == 2


def _is_scale(array: NDArray[Any]) -> bool:
    return array.dtype == np.float32 and array.ndim == 2 and array.shape[0] > array.shape[1] == 1


def test_a_right_graph_passes(exported: Path) -> None:
    encoder, tokens = compare(CHECKPOINT, exported, "whisper_turbo", "int8", spoken=1)
    assert (encoder.passed, tokens.passed) == (True, True)
    assert encoder.difference == pytest.approx(0.85, abs=0.15)


@pytest.mark.parametrize(
    ("chosen", "change", "most"),
    [
        (_is_product, lambda weight: np.rint(weight / 2) * 2, 1000),
        (_is_product, lambda weight: np.roll(weight, 1, axis=1), 1),
        (_is_scale, lambda scales: scales * 1.1, 1),
        (_is_scale, np.ones_like, 1),
    ],
    ids=["weights of 7 bits", "one layer's rows moved", "one layer a tenth too large", "one layer without scales"],
)
def test_a_graph_that_is_a_little_wrong_does_not_pass(
    copied: Path, chosen: Callable[[NDArray[Any]], bool], change: Change, most: int
) -> None:
    _changed(copied, chosen, change, most)
    assert not _encoder(copied).passed


def test_an_export_is_compared_on_forty_windows_of_four_languages() -> None:
    windows = spoken_windows(8.0, sentences_for(384))
    assert len(windows) >= 40
    assert {language for language, _ in windows} == {"en", "de", "fr", "it"}
    assert max(len(audio) for _, audio in windows) <= 8 * 16_000


def test_float16_is_compared_on_a_processor_and_not_passed_for_cuda(tmp_path: Path) -> None:
    export.convert(CHECKPOINT, tmp_path / "float16", "float16")
    encoder, tokens, cuda = compare(CHECKPOINT, tmp_path / "float16", "whisper_turbo", "float16", spoken=1)
    assert (encoder.passed, tokens.passed) == (True, True)
    assert (cuda.passed, cuda.failed) == (False, False)
    assert "never on CUDA" in cuda.what


def test_rounding_takes_no_second_copy_of_an_encoders_weights_and_ends_with_its_block() -> None:
    layer = torch.nn.Linear(2, 1, bias=False)
    layer.weight.data = torch.tensor([[127.0, 50.4]])
    given = torch.tensor([[127.0, 3.3]])
    with checks.rounded_to_int8(layer):
        rounded = layer(given).item()
        kept = layer.weight.tolist()
    assert rounded == 127 * 127 + 50 * 3
    assert kept == [[127.0, pytest.approx(50.4)]]
    assert layer(given).item() == pytest.approx(127 * 127 + 50.4 * 3.3)


@pytest.mark.parametrize(
    ("wanted", "found", "errors"),
    [
        (["1 2 3 4"], ["1 2 3 4"], 0),
        (["1 2 3 4"], ["1 2 9 4"], 0.25),
        (["1 2", "3 4"], ["1 2 3", "4"], 0.5),
        ([""], ["1"], 1),
        ([""], [""], 0),
    ],
)
def test_tokens_are_counted_wrong_that_must_be_put_in_taken_out_or_changed(
    wanted: list[str], found: list[str], errors: float
) -> None:
    assert checks._token_errors(wanted, found) == errors


@pytest.mark.parametrize(("changed", "passes"), [(2, True), (4, False)])
def test_a_twentieth_of_an_int8_exports_tokens_may_differ(changed: int, passes: bool) -> None:
    wanted, found = [" ".join(["1"] * 60)], [" ".join(["2"] * changed + ["1"] * (60 - changed))]
    assert (checks._token_errors(wanted, found) <= checks._TOKEN_ERROR_LIMIT) is passes


def test_a_model_of_the_real_size_is_compared_on_fewer_windows() -> None:
    assert [sentences_for(width) for width in (384, 1280)] == [10, 2]
