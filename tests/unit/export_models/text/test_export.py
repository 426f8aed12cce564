"""The precisions in which a text model is tried, and the files of its export."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from numpy.typing import NDArray
from transformers import BertConfig, BertModel, XLMRobertaModel

from scripts.export_models.checkpoints import SourceError
from scripts.export_models.parity import Check
from scripts.export_models.progress import SILENT, Progress
from scripts.export_models.text import checks, models
from scripts.export_models.text import export as text_export
from scripts.export_models.text.encoder import Precision
from scripts.export_models.text.export import TextExport
from scripts.export_models.text.model_folder import session
from scripts.export_models.text.models import Trained
from scripts.export_models.ways import Exported, first_that_passes
from tests import lookalikes
from tests.processors import exact_int8

TEXTS = [np.array([1, *range(5, 5 + length), 2], np.int32) for length in (1, 4, 9)]


class Heard(Progress):
    """Keeps the names of the steps, each once."""

    def __init__(self) -> None:
        self.steps: list[str] = []

    def step(self, name: str, done: int, total: int) -> None:
        if name not in self.steps:
            self.steps.append(name)


def _text_model(scale: float = 1.0, outlier: float = 0.0) -> TextExport:
    """A tiny embedder; with another ``scale`` than 1 its original gives other vectors than its graph.

    A channel between its feed-forward layers is about as large as ``outlier``, and read as if it were one.
    """
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=20,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        initializer_range=0.5,
    )
    model = BertModel(config).eval()
    if outlier:
        layer = model.encoder.layer[0]
        layer.intermediate.dense.bias.data[3] += outlier
        layer.output.dense.weight.data[:, 3] /= outlier

    def reference(text: NDArray[np.int32]) -> NDArray[np.float32]:
        with torch.inference_mode():
            hidden = model(input_ids=torch.from_numpy(text.astype(np.int64))[None]).last_hidden_state[0, 0]
        vector: NDArray[np.float32] = torch.nn.functional.normalize(hidden, dim=0).numpy() * scale
        return vector

    def build(trained: Trained, precision: Precision) -> onnx.ModelProto:
        return models.embedder(trained, precision, "cls")

    return TextExport("m3_embedder", model, build, reference, TEXTS, TEXTS, TEXTS)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "tokenizer.json").write_text("{}", encoding="utf-8")
    return tmp_path


def _written(target: Path) -> str:
    precision: str = json.loads((target / "quartet.json").read_text(encoding="utf-8"))["precision"]
    return precision


def _exported(source: Path, model: TextExport, precision: str, progress: Progress = SILENT) -> Exported:
    ways = text_export.ways_of(lambda: model, source, source / "out", precision, progress)
    return first_that_passes(ways)


def _checks(source: Path, model: TextExport, precision: str, progress: Progress = SILENT) -> list[Check]:
    """Of the first way."""
    return text_export.ways_of(lambda: model, source, source / "out", precision, progress)[0].export()


@exact_int8
def test_int8_is_taken_if_it_loses_little(source: Path) -> None:
    assert _exported(source, _text_model(), "int8").way == _written(source / "out") == "int8"


def test_a_model_that_passes_in_no_precision_is_not_exported(source: Path) -> None:
    """Its graph in float32 too gives other vectors than its original."""
    with pytest.raises(SourceError, match=r"int8: int8: 1 - cosine is 0\.1, over 0\.001.*fp32: fp32: 3 texts"):
        _exported(source, _text_model(scale=0.9), "int8")


@exact_int8
def test_bf16_is_taken_if_int8_loses_too_much(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "INT8", replace(checks.INT8, cosine=0.0))
    exported = _exported(source, _text_model(), "int8")
    assert exported.way == _written(source / "out") == "bf16"
    assert [reason.partition(" is ")[0] for reason in exported.skipped] == ["int8: int8: 1 - cosine"]


@exact_int8
def test_a_model_with_one_huge_channel_is_not_exported_in_int8(source: Path) -> None:
    exported = _exported(source, _text_model(outlier=1000.0), "int8")
    assert exported.way == _written(source / "out") == "bf16"
    (reason,) = exported.skipped
    assert reason.startswith("int8: int8: 1 - cosine is ")


@exact_int8
def test_a_strict_int8_that_loses_too_much_is_an_error(source: Path) -> None:
    ways = text_export.ways_of(lambda: _text_model(outlier=1000.0), source, source / "out", "int8")
    with pytest.raises(SourceError, match="no way to export it passes: int8: int8: 1 - cosine is "):
        first_that_passes(ways, strict=True)


def test_bf16_has_its_own_limits(source: Path) -> None:
    checks = _checks(source, _text_model(), "bf16")
    assert _written(source / "out") == "bf16"
    assert all(check.passed for check in checks)
    assert "bf16: 1 - cosine" in [check.what for check in checks]


def test_fp16_is_checked_except_on_cuda(source: Path) -> None:
    *checks, last = _checks(source, _text_model(), "fp16")
    assert len(checks) == 3
    assert all(check.passed for check in checks)
    assert (last.passed, last.failed) == (False, False)


MEAN = {"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True, "pooling_mode_max_tokens": False}


def _pool_by_mean(checkpoint: Path) -> None:
    (checkpoint / "1_Pooling").mkdir()
    (checkpoint / "1_Pooling" / "config.json").write_text(json.dumps(MEAN), encoding="utf-8")


@pytest.fixture
def short_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """For exports of checkpoints whose long texts take most of the time."""
    monkeypatch.setattr(checks, "_LENGTHS", (3, 7, 60))


@pytest.mark.usefixtures("short_texts")
def test_a_reranker_by_cosine_is_checked_in_fp16_too(tmp_path: Path) -> None:
    lookalikes.text_model(tmp_path / "checkpoint", reranker=False)
    _pool_by_mean(tmp_path / "checkpoint")
    checks = text_export.ways("m3_reranker", tmp_path / "checkpoint", tmp_path / "out", "fp16")[0].export()
    assert [check.what for check in checks if not check.passed] == ["fp16: on CUDA itself"]


def test_an_encoder_that_says_nothing_of_scores_is_no_reranker(tmp_path: Path) -> None:
    lookalikes.text_model(tmp_path / "checkpoint", reranker=False)
    (tmp_path / "checkpoint" / "quartet.json").write_text('{"stands_in": true}', encoding="utf-8")
    with pytest.raises(SourceError, match=r"has no classification head, and its quartet\.json no cosine_score"):
        first_that_passes(text_export.ways("m3_reranker", tmp_path / "checkpoint", tmp_path / "out", "fp32"))


def test_a_wrong_fp16_graph_fails(source: Path) -> None:
    checks = _checks(source, _text_model(scale=0.9), "fp16")
    assert "fp16: 1 - cosine" in [check.what for check in checks if check.failed]


def test_an_export_reports_its_steps(source: Path) -> None:
    heard = Heard()
    _checks(source, _text_model(), "int8", heard)
    assert heard.steps == ["calibrating", "building layers", "computing the original's answers"]


@pytest.mark.parametrize(
    ("settings", "pooling"),
    [(None, "cls"), (MEAN, "mean"), (dict.fromkeys(MEAN, False) | {"pooling_mode_cls_token": True}, "cls")],
)
def test_pooling_is_read_from_the_checkpoint(tmp_path: Path, settings: dict[str, bool] | None, pooling: str) -> None:
    if settings is not None:
        (tmp_path / "1_Pooling").mkdir()
        (tmp_path / "1_Pooling" / "config.json").write_text(json.dumps(settings), encoding="utf-8")
    assert text_export.pooling_of(tmp_path) == pooling


def test_another_pooling_is_refused(tmp_path: Path) -> None:
    (tmp_path / "1_Pooling").mkdir()
    settings = dict.fromkeys(MEAN, False) | {"pooling_mode_max_tokens": True}
    (tmp_path / "1_Pooling" / "config.json").write_text(json.dumps(settings), encoding="utf-8")
    with pytest.raises(SourceError, match="pooling_mode_max_tokens"):
        text_export.pooling_of(tmp_path)


@pytest.mark.usefixtures("short_texts")
@pytest.mark.parametrize("mean", [True, False])
def test_the_exported_vector_is_pooled_as_the_checkpoint_says(tmp_path: Path, mean: bool) -> None:
    """The export's own check takes the pooling from where the graph does; here it is written down."""
    folder = tmp_path / "checkpoint"
    lookalikes.text_model(folder, reranker=False)
    if mean:
        _pool_by_mean(folder)
    checks = text_export.ways("m3_embedder", folder, tmp_path / "out", "fp32")[0].export()
    assert all(check.passed for check in checks)
    text = np.array([0, 7, 9, 11, 2], np.int32)
    vector = session(tmp_path / "out")([text])[0, :64]
    with torch.inference_mode():
        model = XLMRobertaModel.from_pretrained(folder).eval()
        hidden = model(input_ids=torch.from_numpy(text.astype(np.int64))[None]).last_hidden_state[0]
    wanted = hidden.mean(0) if mean else hidden[0]
    assert np.abs(vector - torch.nn.functional.normalize(wanted, dim=0).numpy()).max() < 1e-5
