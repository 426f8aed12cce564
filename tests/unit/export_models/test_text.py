"""The precisions in which a text model is tried, and the files of its export."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from transformers import (
    AutoConfig,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    BertConfig,
    BertModel,
    XLMRobertaModel,
)

from scripts.export_models import text, text_checks, text_graph
from scripts.export_models.checkpoints import PROMISES, SourceError
from scripts.export_models.parity import Check, Exported, first_that_passes
from scripts.export_models.precisions import Precision, text_precisions
from scripts.export_models.progress import SILENT, Progress
from scripts.export_models.text import TextModel
from tests import lookalikes
from tests.processors import exact_int8
from tests.unit.export_models.small_texts import SIZES, xlmr

TEXTS = [np.array([1, *range(5, 5 + length), 2], np.int32) for length in (1, 4, 9)]


@pytest.fixture(autouse=True)
def _one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests run beside each other."""
    monkeypatch.setattr(text, "processors", lambda: 1)


class Heard(Progress):
    """Keeps the names of the steps, each once."""

    def __init__(self) -> None:
        self.steps: list[str] = []

    def step(self, name: str, done: int, total: int) -> None:
        if name not in self.steps:
            self.steps.append(name)


@dataclass(frozen=True)
class _Scaled(TextModel):
    """An original that gives other vectors than its graph, unless ``scale`` is 1."""

    scale: float = 1.0

    @property
    def width(self) -> int:
        return 16

    def answer(self, ids: NDArray[np.int32]) -> NDArray[np.float32]:
        return super().answer(ids) * np.float32(self.scale)


def _text_model(scale: float = 1.0, outlier: float = 0.0) -> TextModel:
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

    return _Scaled(PROMISES["m3_embedder"], model, "cls", None, TEXTS, TEXTS, TEXTS, scale=scale)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "tokenizer.json").write_text("{}", encoding="utf-8")
    return tmp_path


def _written(target: Path) -> str:
    precision: str = json.loads((target / "quartet.json").read_text(encoding="utf-8"))["precision"]
    return precision


def _exported(source: Path, model: TextModel, precision: str, *, strict: bool = False) -> Exported:
    return first_that_passes(text_precisions(precision), lambda each: _checks(source, model, each), strict=strict)


def _checks(source: Path, model: TextModel, precision: Precision, progress: Progress = SILENT) -> list[Check]:
    return text.export(model, source, source / "out", precision, progress)


@exact_int8
def test_int8_is_taken_if_it_loses_little(source: Path) -> None:
    assert _exported(source, _text_model(), "int8").way == _written(source / "out") == "int8"


def test_a_model_that_passes_in_no_precision_is_not_exported(source: Path) -> None:
    """Its graph in float32 too gives other vectors than its original."""
    with pytest.raises(SourceError, match=r"int8: int8: 1 - cosine is 0\.1, over 0\.001.*fp32: fp32: 3 texts"):
        _exported(source, _text_model(scale=0.9), "int8")


@exact_int8
def test_bf16_is_taken_if_int8_loses_too_much(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_checks, "INT8", replace(text_checks.INT8, cosine=0.0))
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
    with pytest.raises(SourceError, match="no way to export it passes: int8: int8: 1 - cosine is "):
        _exported(source, _text_model(outlier=1000.0), "int8", strict=True)


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
    monkeypatch.setattr(text_checks, "_LENGTHS", (3, 7, 60))


def _loaded(name: str, folder: Path, precision: Precision) -> list[Check]:
    """The checks of the checkpoint in ``folder``."""
    model = text.load(PROMISES[name], folder / "checkpoint")
    return text.export(model, folder / "checkpoint", folder / "out", precision, SILENT)


@pytest.mark.usefixtures("short_texts")
def test_a_reranker_by_cosine_is_checked_in_fp16_too(tmp_path: Path) -> None:
    lookalikes.text_model(tmp_path / "checkpoint", reranker=False)
    _pool_by_mean(tmp_path / "checkpoint")
    checks = _loaded("m3_reranker", tmp_path, "fp16")
    assert [check.what for check in checks if not check.passed] == ["fp16: on CUDA itself"]


def _save(folder: Path, config: Any) -> None:
    """A classifier with one label and random weights, beside a tokenizer that is there."""
    torch.manual_seed(0)
    AutoModelForSequenceClassification.from_config(config).save_pretrained(folder)


@pytest.mark.parametrize(
    "kind", [pytest.param("modernbert", id="another type"), pytest.param("bert", id="texts of a pair have types")]
)
@pytest.mark.usefixtures("short_texts")
def test_optimum_exports_what_has_no_packed_graph(tmp_path: Path, kind: str) -> None:
    lookalikes.text_model(tmp_path / "checkpoint", reranker=True)
    words = len(AutoTokenizer.from_pretrained(tmp_path / "checkpoint"))
    sizes = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}
    own = {"vocab_size": words, "max_position_embeddings": 8192, "num_labels": 1, "pad_token_id": 1}
    _save(tmp_path / "checkpoint", AutoConfig.for_model(kind, **sizes, **own))
    assert text.precisions("int8", tmp_path / "checkpoint", tmp_path / "speeds.json") == (["bf16", "fp32"], "")
    with pytest.raises(SourceError, match="a graph that pads texts, which is for processors alone"):
        text.precisions("fp16", tmp_path / "checkpoint", tmp_path / "speeds.json")
    checks = _loaded("m3_reranker", tmp_path, "fp32")
    assert all(check.passed for check in checks)
    assert len(checks) == 2


def test_an_encoder_that_says_nothing_of_scores_is_no_reranker(tmp_path: Path) -> None:
    lookalikes.text_model(tmp_path / "checkpoint", reranker=False)
    settings = tmp_path / "checkpoint" / "quartet.json"
    settings.write_text('{"stands_in": true}', encoding="utf-8")
    with pytest.raises(SourceError, match=r"has no classification head, and no quartet\.json with a cosine_score"):
        text.load(PROMISES["m3_reranker"], tmp_path / "checkpoint")


def test_an_encoder_without_settings_of_ours_is_no_reranker(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint"
    lookalikes.text_model(folder, reranker=False)
    (folder / "quartet.json").unlink(missing_ok=True)
    with pytest.raises(SourceError, match=r"has no classification head, and no quartet\.json with a cosine_score"):
        text.load(PROMISES["m3_reranker"], folder)


def test_a_tokenizer_that_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    lookalikes.text_model(tmp_path / "checkpoint", reranker=False)
    (tmp_path / "checkpoint" / "tokenizer.json").write_text('{"a": 1}', encoding="utf-8")
    with pytest.raises(SourceError, match=r"tokenizer\.json is no tokenizer of a model of this type$"):
        text.load(PROMISES["m3_embedder"], tmp_path / "checkpoint")


def test_a_tokenizer_with_more_tokens_than_the_model_knows_is_refused(tmp_path: Path) -> None:
    lookalikes.text_model(tmp_path / "checkpoint", reranker=False)
    path = tmp_path / "checkpoint" / "tokenizer.json"
    tokens = Tokenizer.from_file(str(path))
    known = tokens.get_vocab_size()
    tokens.add_tokens([f"<{number}>" for number in range(1000)])
    tokens.save(str(path))
    with pytest.raises(SourceError, match=rf"tokenizer\.json has {known + 1000} tokens, and the model knows {known}"):
        text.load(PROMISES["m3_embedder"], tmp_path / "checkpoint")


def test_a_classifier_with_more_than_one_score_is_no_reranker(tmp_path: Path) -> None:
    lookalikes.text_model(tmp_path / "checkpoint", reranker=True)
    assert text.load(PROMISES["m3_reranker"], tmp_path / "checkpoint").score is None
    _save(tmp_path / "checkpoint", AutoConfig.from_pretrained(tmp_path / "checkpoint", num_labels=2))
    with pytest.raises(SourceError, match="gives a pair 2 scores, and a reranker one"):
        text.load(PROMISES["m3_reranker"], tmp_path / "checkpoint")


def test_weights_that_a_model_lacks_are_not_made_up(tmp_path: Path) -> None:
    """As those of JinaBERT, which calls itself a BERT and has other layers."""
    lookalikes.text_model(tmp_path / "checkpoint", reranker=False)
    path = tmp_path / "checkpoint" / "model.safetensors"
    weights = load_file(path)
    gone = next(name for name in sorted(weights) if "intermediate.dense.weight" in name)
    save_file({name: value.clone() for name, value in weights.items() if name != gone}, path, {"format": "pt"})
    with pytest.raises(SourceError, match=r"has no weights encoder\.layer\.0\.intermediate\.dense\.weight: its files"):
        text.load(PROMISES["m3_embedder"], tmp_path / "checkpoint")


def test_weights_of_other_shapes_are_one_sentence(tmp_path: Path) -> None:
    lookalikes.text_model(tmp_path / "checkpoint", reranker=False)
    path = tmp_path / "checkpoint" / "config.json"
    settings = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**settings, "intermediate_size": settings["intermediate_size"] + 8}), encoding="utf-8")
    with pytest.raises(SourceError, match=r"has weights of other shapes than its config\.json says$"):
        text.load(PROMISES["m3_embedder"], tmp_path / "checkpoint")


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
    assert text.pooling_of(tmp_path) == pooling


def test_another_pooling_is_refused(tmp_path: Path) -> None:
    (tmp_path / "1_Pooling").mkdir()
    settings = dict.fromkeys(MEAN, False) | {"pooling_mode_max_tokens": True}
    (tmp_path / "1_Pooling" / "config.json").write_text(json.dumps(settings), encoding="utf-8")
    with pytest.raises(SourceError, match="pooling_mode_max_tokens"):
        text.pooling_of(tmp_path)


@pytest.mark.usefixtures("short_texts")
@pytest.mark.parametrize("mean", [True, False])
def test_the_exported_vector_is_pooled_as_the_checkpoint_says(tmp_path: Path, mean: bool) -> None:
    """The export's own check takes the pooling from where the graph does; here it is written down."""
    folder = tmp_path / "checkpoint"
    lookalikes.text_model(folder, reranker=False)
    if mean:
        _pool_by_mean(folder)
    checks = _loaded("m3_embedder", tmp_path, "fp32")
    assert all(check.passed for check in checks)
    ids = np.array([0, 7, 9, 11, 2], np.int32)
    vector = text.session(tmp_path / "out")([ids])[0, :64]
    with torch.inference_mode():
        model = XLMRobertaModel.from_pretrained(folder).eval()
        hidden = model(input_ids=torch.from_numpy(ids.astype(np.int64))[None]).last_hidden_state[0]
    wanted = hidden.mean(0) if mean else hidden[0]
    assert np.abs(vector - torch.nn.functional.normalize(wanted, dim=0).numpy()).max() < 1e-5


def _write_head(folder: Path, weight: Any = None, **more: Any) -> None:
    generator = torch.Generator().manual_seed(5)
    weight = torch.randn(1, 64, generator=generator).half() if weight is None else weight
    torch.save({"weight": weight, "bias": torch.full((1,), 0.5), **more}, folder / "sparse_linear.pt")


def _settings(folder: Path) -> Any:
    return json.loads((folder / "out" / "quartet.json").read_text(encoding="utf-8"))


@pytest.mark.usefixtures("short_texts")
@pytest.mark.parametrize("precision", ["fp32", "bf16", pytest.param("int8", marks=exact_int8)])
def test_the_head_of_a_checkpoint_is_exported_and_checked(tmp_path: Path, precision: Precision) -> None:
    lookalikes.text_model(tmp_path / "checkpoint", reranker=False)
    _write_head(tmp_path / "checkpoint")
    last = _loaded("m3_embedder", tmp_path, precision)[-2:]
    assert [check.what for check in last] == ["token weights alone and in a batch", f"{precision}: token weights"]
    assert all(check.passed for check in last)
    assert _settings(tmp_path)["unweighted_tokens"] == [0, 1, 2, 3]


@pytest.mark.usefixtures("short_texts")
def test_weights_that_differ_from_the_originals_fail_their_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lookalikes.text_model(tmp_path / "checkpoint", reranker=False)
    _write_head(tmp_path / "checkpoint")
    own = TextModel.token_weights
    monkeypatch.setattr(TextModel, "token_weights", lambda model, ids: own(model, ids) * np.float32(1.5))
    assert [check.what for check in _loaded("m3_embedder", tmp_path, "fp32") if check.failed] == ["fp32: token weights"]


@pytest.mark.usefixtures("short_texts")
@pytest.mark.parametrize("head", [True, False])
def test_an_export_for_cuda_and_one_without_a_head_weigh_nothing(tmp_path: Path, head: bool) -> None:
    lookalikes.text_model(tmp_path / "checkpoint", reranker=False)
    if head:
        _write_head(tmp_path / "checkpoint")
    checks = _loaded("m3_embedder", tmp_path, "fp16" if head else "fp32")
    assert not any("weights" in check.what for check in checks)
    assert "unweighted_tokens" not in _settings(tmp_path)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"weight": torch.ones(1, 65)}, "is for other hidden states than"),
        ({"weight": torch.ones(2, 64)}, "is for other hidden states than"),
        ({"bias": torch.ones(2)}, "is for other hidden states than"),
        ({"weight": torch.full((1, 64), torch.nan)}, "has numbers that are not finite"),
        ({"weight": "a"}, "has no weight and bias of a linear layer"),
    ],
)
def test_a_head_that_does_not_fit_is_one_sentence(tmp_path: Path, given: dict[str, Any], reason: str) -> None:
    lookalikes.text_model(tmp_path / "checkpoint", reranker=False)
    _write_head(tmp_path / "checkpoint", **given)
    with pytest.raises(SourceError, match=rf"sparse_linear\.pt {reason}"):
        text.load(PROMISES["m3_embedder"], tmp_path / "checkpoint")


def test_code_in_the_head_of_a_checkpoint_does_not_run(tmp_path: Path) -> None:
    lookalikes.text_model(tmp_path / "checkpoint", reranker=False)
    _write_head(tmp_path / "checkpoint", code=_Code(tmp_path / "ran"))
    with pytest.raises(SourceError, match=r"sparse_linear\.pt has no weight and bias"):
        text.load(PROMISES["m3_embedder"], tmp_path / "checkpoint")
    assert not (tmp_path / "ran").exists()


@pytest.fixture
def configured(tmp_path: Path) -> Path:
    xlmr().config.save_pretrained(tmp_path)
    return tmp_path


def _precisions(source: Path, wanted: str) -> tuple[list[Precision], str]:
    return text.precisions(wanted, source, source / "speeds.json")


def test_all_precisions_are_measured_in_the_shape_of_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    shapes = []
    own = text_graph.embedder

    def embedder(trained: Any, *others: Any) -> Any:
        inner, width = trained.weights["encoder.layer.0.intermediate.dense.weight"].shape
        words = len(trained.weights["embeddings.word_embeddings.weight"])
        shapes.append((width, inner, trained.shape.layers, words))
        return own(trained, *others)

    monkeypatch.setattr(text, "embedder", embedder)
    precisions: list[Precision] = ["int8", "bf16", "fp32"]
    config = xlmr().config
    # Fewer positions than the texts that are measured have tokens.
    config.max_position_embeddings = 66
    seconds = text.measure(config, precisions)
    assert list(seconds) == precisions
    assert all(0 < each < 60 for each in seconds.values())
    assert set(shapes) == {(SIZES["hidden_size"], SIZES["intermediate_size"], 2, 1000)}


@pytest.mark.parametrize(
    ("int8", "tried"), [(0.010, ["int8", "bf16", "fp32"]), (0.019, ["bf16", "fp32"])], ids=["worth it", "not"]
)
def test_auto_chooses_by_what_was_measured_and_says_it(
    configured: Path, monkeypatch: pytest.MonkeyPatch, int8: float, tried: list[str]
) -> None:
    monkeypatch.setattr(text, "text_precisions", lambda wanted: ["int8", "bf16", "fp32"])
    monkeypatch.setattr(text, "measure", lambda config, each: {"int8": int8, "bf16": 0.02, "fp32": 0.04})
    said = f"int8 {1000 * int8:.0f} ms, bf16 20 ms, fp32 40 ms"
    assert _precisions(configured, "auto") == (tried, said)


@pytest.mark.parametrize("wanted", ["int8", "bf16", "fp32", "fp16"])
def test_what_the_operator_asks_for_is_not_measured(
    configured: Path, monkeypatch: pytest.MonkeyPatch, wanted: str
) -> None:
    monkeypatch.setattr(text, "measure", lambda config, each: pytest.fail("it was measured"))
    (first, *_), why = _precisions(configured, wanted)
    assert (first, why) == (wanted, "")


def test_a_processor_that_is_fast_in_fp32_alone_measures_nothing(
    configured: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text, "text_precisions", lambda wanted: ["fp32"])
    monkeypatch.setattr(text, "measure", lambda config, each: pytest.fail("it was measured"))
    assert _precisions(configured, "auto") == (["fp32"], "")


def test_models_of_one_shape_are_measured_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[int] = []

    def measure(config: Any, precisions: list[Precision]) -> dict[str, float]:
        measured.append(config.hidden_size)
        return dict.fromkeys(precisions, float(len(measured)))

    monkeypatch.setattr(text, "measure", measure)
    small, wide = xlmr().config, xlmr().config
    wide.hidden_size = 128
    found = [text.remembered(tmp_path / "speeds.json", each, ["bf16", "fp32"]) for each in (small, small, wide)]
    assert found[0] == found[1] != found[2]
    assert measured == [small.hidden_size, 128]


class _Code:
    """A value whose pickle runs a command when it is read."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self._path,)


def test_code_in_the_weights_of_a_checkpoint_does_not_run(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint"
    lookalikes.text_model(folder, reranker=False)
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    torch.save({**weights, "code": _Code(tmp_path / "ran")}, folder / "pytorch_model.bin")
    with pytest.raises(SourceError, match=r"has a config\.json or weights that cannot be loaded$"):
        text.load(PROMISES["m3_embedder"], folder)
    assert not (tmp_path / "ran").exists()


def test_code_beside_the_weights_of_a_checkpoint_does_not_run(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint"
    lookalikes.text_model(folder, reranker=False)
    (folder / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nclass Own: pass\n")
    for name, kinds in (("config", ("AutoConfig", "AutoModel")), ("tokenizer_config", ("AutoTokenizer",))):
        path = folder / f"{name}.json"
        asks = {"auto_map": dict.fromkeys(kinds, "own.Own")}
        path.write_text(json.dumps(json.loads(path.read_text()) | asks))
    assert type(text.load(PROMISES["m3_embedder"], folder).original) is XLMRobertaModel
    assert not (tmp_path / "ran").exists()
