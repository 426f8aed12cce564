"""What ``auto`` tries is measured on this processor, and said."""

from pathlib import Path
from typing import Any

import pytest

from scripts.export_models.text import export, models, speeds
from scripts.export_models.text.encoder import Precision
from tests.unit.export_models.text.small import SIZES, xlmr


@pytest.fixture
def source(tmp_path: Path) -> Path:
    xlmr().config.save_pretrained(tmp_path)
    return tmp_path


def _ways(source: Path, wanted: str) -> list[tuple[str, str]]:
    ways = export.ways_of(lambda: pytest.fail("it was loaded"), source, source, wanted, work=source)
    return [(way.name, way.why) for way in ways]


def test_all_precisions_are_measured_in_the_shape_of_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    shapes = []
    own = models.embedder

    def embedder(trained: Any, *others: Any) -> Any:
        config = trained.config
        shapes.append((config.hidden_size, config.intermediate_size, config.num_hidden_layers, config.vocab_size))
        return own(trained, *others)

    monkeypatch.setattr(models, "embedder", embedder)
    precisions: list[Precision] = ["int8", "bf16", "fp32"]
    seconds = speeds.measure(xlmr().config, precisions)
    assert list(seconds) == precisions
    assert all(0 < each < 60 for each in seconds.values())
    assert set(shapes) == {(SIZES["hidden_size"], SIZES["intermediate_size"], 2, 1000)}


@pytest.mark.parametrize(
    ("int8", "tried"), [(0.010, ["int8", "bf16", "fp32"]), (0.019, ["bf16", "fp32"])], ids=["worth it", "not"]
)
def test_auto_chooses_by_what_was_measured_and_says_it(
    source: Path, monkeypatch: pytest.MonkeyPatch, int8: float, tried: list[str]
) -> None:
    monkeypatch.setattr(export, "text_precisions", lambda wanted: ["int8", "bf16", "fp32"])
    monkeypatch.setattr(speeds, "measure", lambda config, each: {"int8": int8, "bf16": 0.02, "fp32": 0.04})
    said = f"int8 {1000 * int8:.0f} ms, bf16 20 ms, fp32 40 ms"
    assert _ways(source, "auto") == [(each, said) for each in tried]


@pytest.mark.parametrize("wanted", ["int8", "bf16", "fp32", "fp16"])
def test_what_the_operator_asks_for_is_not_measured(source: Path, monkeypatch: pytest.MonkeyPatch, wanted: str) -> None:
    monkeypatch.setattr(speeds, "measure", lambda config, each: pytest.fail("it was measured"))
    assert _ways(source, wanted)[0] == (wanted, "")


def test_a_processor_that_is_fast_in_fp32_alone_measures_nothing(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "text_precisions", lambda wanted: ["fp32"])
    monkeypatch.setattr(speeds, "measure", lambda config, each: pytest.fail("it was measured"))
    assert _ways(source, "auto") == [("fp32", "")]


def test_models_of_one_shape_are_measured_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[int] = []

    def measure(config: Any, precisions: list[Precision]) -> dict[str, float]:
        measured.append(config.hidden_size)
        return dict.fromkeys(precisions, float(len(measured)))

    monkeypatch.setattr(speeds, "measure", measure)
    small, wide = xlmr().config, xlmr().config
    wide.hidden_size = 128
    found = [speeds.remembered(tmp_path / "speeds.json", each, ["bf16", "fp32"]) for each in (small, small, wide)]
    assert found[0] == found[1] != found[2]
    assert measured == [small.hidden_size, 128]
