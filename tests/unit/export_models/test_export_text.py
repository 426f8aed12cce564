"""Which precision ``auto`` takes, and what is written."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from transformers import BertConfig, BertModel

from scripts.export_models import export_text, text_models
from scripts.export_models.calibration import calibrate
from scripts.export_models.export_text import TextModel, export
from scripts.export_models.int8 import int8_is_fast

TEXTS = [np.array([1, *range(5, 5 + length), 2], np.int32) for length in (1, 4, 9)]


def _text_model(scale: float = 1.0) -> TextModel:
    """A tiny embedder; with another ``scale`` than 1 its original gives other vectors than its graph."""
    torch.manual_seed(0)
    config = BertConfig(vocab_size=20, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
    model = BertModel(config).eval()

    def reference(text: NDArray[np.int32]) -> NDArray[np.float32]:
        with torch.inference_mode():
            hidden = model(input_ids=torch.from_numpy(text.astype(np.int64))[None]).last_hidden_state[0, 0]
        vector = np.zeros(1024, np.float32)
        vector[:8] = torch.nn.functional.normalize(hidden, dim=0).numpy() * scale
        return vector

    return TextModel(
        "m3_embedder",
        lambda precision, found: text_models.embedder(text_models.checkpoint_of(model, found), precision, "cls"),
        lambda: calibrate(model, TEXTS),
        reference,
        TEXTS,
        TEXTS,
    )


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "tokenizer.json").write_text("{}", encoding="utf-8")
    return tmp_path


def _written(target: Path) -> str:
    precision: str = json.loads((target / "quartet.json").read_text(encoding="utf-8"))["precision"]
    return precision


def _cpu(monkeypatch: pytest.MonkeyPatch, *, fast: bool) -> None:
    monkeypatch.setattr(export_text, "int8_is_fast", lambda: fast)


def test_auto_is_int8_where_that_is_fast(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _cpu(monkeypatch, fast=True)
    checks = export(_text_model(), source, tmp_path / "out", "auto")
    assert _written(tmp_path / "out") == "int8"
    assert all(check.passed for check in checks)


def test_auto_is_fp32_where_int8_is_no_faster(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _cpu(monkeypatch, fast=False)
    export(_text_model(), source, tmp_path / "out", "auto")
    assert _written(tmp_path / "out") == "fp32"


def test_auto_is_fp32_where_int8_loses_too_much(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _cpu(monkeypatch, fast=True)
    export(_text_model(scale=0.9), source, tmp_path / "out", "auto")
    assert _written(tmp_path / "out") == "fp32"
    assert "m3_embedder: fp32, since int8: 1 - cosine is 1.0e-01, over 1e-03" in capsys.readouterr().err


def test_int8_that_was_asked_for_and_loses_too_much_fails(source: Path, tmp_path: Path) -> None:
    checks = export(_text_model(scale=0.9), source, tmp_path / "out", "int8")
    assert _written(tmp_path / "out") == "int8"
    assert not all(check.passed for check in checks)


@pytest.mark.parametrize(("flags", "fast"), [("fma avx512_vnni", True), ("fma avx2", False), ("asimddp", True)])
def test_fast_int8_is_read_from_the_processors_flags(tmp_path: Path, flags: str, fast: bool) -> None:
    (tmp_path / "cpuinfo").write_text(f"flags\t\t: {flags}\n", encoding="utf-8")
    assert int8_is_fast(tmp_path / "cpuinfo") is fast
