"""Look-alikes of the real checkpoints, small and random, against the Hugging Face models they are exported from."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
import torch
from numpy.typing import NDArray
from transformers import (
    BertConfig,
    BertModel,
    XLMRobertaConfig,
    XLMRobertaForSequenceClassification,
    XLMRobertaModel,
)

from scripts.export_models.graphs.builder import save
from scripts.export_models.text import models
from scripts.export_models.text.calibration import calibrate
from scripts.export_models.text.checks import Run, session

SIZES = {
    "vocab_size": 300,
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
}
LENGTHS = (1, 2, 3, 17, 64, 257, 1000, 8192)


def _texts(lengths: tuple[int, ...] = LENGTHS) -> list[NDArray[np.int32]]:
    rng = np.random.default_rng(7)
    return [rng.integers(5, 300, length).astype(np.int32) for length in lengths]


def _xlmr() -> Any:
    torch.manual_seed(0)
    return XLMRobertaModel(XLMRobertaConfig(**SIZES, max_position_embeddings=8194, type_vocab_size=1)).eval()


def _load(model: onnx.ModelProto, folder: Path) -> Run:
    save(model, folder / "model.onnx")
    return session(folder / "model.onnx")


def _first_token(model: Any, text: NDArray[np.int32]) -> NDArray[np.float32]:
    with torch.inference_mode():
        hidden = model(input_ids=torch.from_numpy(text.astype(np.int64))[None]).last_hidden_state[0, 0]
    vector: NDArray[np.float32] = torch.nn.functional.normalize(hidden, dim=0).numpy()
    return vector


@pytest.fixture(scope="module")
def embedder(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Run]:
    model = _xlmr()
    graph = models.embedder(models.checkpoint_of(model), "fp32", "cls")
    return model, _load(graph, tmp_path_factory.mktemp("embedder"))


@pytest.mark.parametrize("length", LENGTHS)
def test_a_text_of_any_length_has_the_originals_vector(embedder: tuple[Any, Run], length: int) -> None:
    model, run = embedder
    (text,) = _texts((length,))
    assert np.abs(run([text])[0] - _first_token(model, text)).max() < 1e-5


def test_a_vector_does_not_depend_on_its_batch(embedder: tuple[Any, Run]) -> None:
    _, run = embedder
    texts = _texts()
    together = run(texts)
    assert max(np.abs(run([text])[0] - row).max() for text, row in zip(texts, together, strict=True)) < 1e-5


@pytest.mark.parametrize("lengths", [(1500, 3, 600, 2), (511, 1, 512, 1, 513, 1), (1,) * 600], ids=str)
def test_texts_in_several_blocks_have_their_own_vectors_in_order(
    embedder: tuple[Any, Run], lengths: tuple[int, ...]
) -> None:
    model, run = embedder
    texts = _texts(lengths)
    wanted = np.stack([_first_token(model, text) for text in texts])
    assert np.abs(run(texts) - wanted).max() < 1e-5


def test_a_narrower_model_that_is_padded_ends_in_zeros(tmp_path: Path, embedder: tuple[Any, Run]) -> None:
    model, run = embedder
    padded = _load(models.embedder(models.checkpoint_of(model), "fp32", "cls", padded_to=100), tmp_path)(_texts((9,)))
    assert padded.shape == (1, 100)
    assert (padded[:, :64] == run(_texts((9,)))).all()
    assert not padded[:, 64:].any()


def test_vectors_have_length_one(embedder: tuple[Any, Run]) -> None:
    assert np.allclose(np.linalg.norm(embedder[1](_texts()), axis=1), 1, atol=1e-5)


def test_a_bert_checkpoint_has_the_originals_vector(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = BertModel(BertConfig(**SIZES, max_position_embeddings=512)).eval()
    run = _load(models.embedder(models.checkpoint_of(model), "fp32", "cls"), tmp_path)
    for text in _texts((1, 9, 300)):
        assert np.abs(run([text])[0] - _first_token(model, text)).max() < 1e-5


def test_mean_pooling_is_the_mean_of_each_text(tmp_path: Path) -> None:
    model = _xlmr()
    run = _load(models.embedder(models.checkpoint_of(model), "fp32", "mean"), tmp_path)
    texts = _texts((4, 700, 2))
    rows = run(texts)
    for text, row in zip(texts, rows, strict=True):
        with torch.inference_mode():
            hidden = model(input_ids=torch.from_numpy(text.astype(np.int64))[None]).last_hidden_state[0].mean(0)
        wanted = torch.nn.functional.normalize(hidden, dim=0).numpy()
        assert np.abs(row - wanted).max() < 1e-5


def test_the_reranker_gives_the_originals_scores(tmp_path: Path) -> None:
    torch.manual_seed(0)
    config = XLMRobertaConfig(**SIZES, max_position_embeddings=8194, type_vocab_size=1, num_labels=1)
    model = XLMRobertaForSequenceClassification(config).eval()
    run = _load(models.reranker(models.checkpoint_of(model), "fp32"), tmp_path)
    texts = _texts((3, 40, 2000))
    for text, score in zip(texts, run(texts), strict=True):
        with torch.inference_mode():
            logit = model(input_ids=torch.from_numpy(text.astype(np.int64))[None]).logits[0, 0]
        assert abs(score - torch.sigmoid(logit).item()) < 1e-5


@pytest.fixture(scope="module")
def int8(tmp_path_factory: pytest.TempPathFactory) -> Run:
    model = _xlmr()
    checkpoint = models.checkpoint_of(model, calibrate(model, _texts((50, 200))))
    return _load(models.embedder(checkpoint, "int8", "cls"), tmp_path_factory.mktemp("int8"))


def test_int8_is_the_same_to_the_bit_in_any_batch(int8: Run) -> None:
    texts = _texts((3, 40, 500))
    together = int8(texts)
    assert all((int8([text])[0] == row).all() for text, row in zip(texts, together, strict=True))


def test_int8_stays_close_to_fp32(int8: Run, embedder: tuple[Any, Run]) -> None:
    texts = _texts((3, 40, 500))
    assert (1 - (int8(texts) * embedder[1](texts)).sum(axis=1)).max() < 1e-4


def _with_outliers(model: Any) -> Any:
    """Give a few channels the size that trained encoders give them, by way of the normalisations."""
    with torch.no_grad():
        for name, weights in model.named_parameters():
            if name.endswith("LayerNorm.weight"):
                weights[[3, 17]] = 25.0
    return model


def test_int8_stays_close_where_some_channels_are_large(tmp_path: Path) -> None:
    model = _with_outliers(_xlmr())
    checkpoint = models.checkpoint_of(model, calibrate(model, _texts((50, 200))))
    run = _load(models.embedder(checkpoint, "int8", "cls"), tmp_path)
    texts = _texts((3, 40, 500))
    wanted = np.stack([_first_token(model, text) for text in texts])
    assert (1 - (run(texts) * wanted).sum(axis=1)).max() < 1e-3


def test_int8_multiplies_in_integers_alone_but_for_attention() -> None:
    model = _xlmr()
    checkpoint = models.checkpoint_of(model, calibrate(model, _texts((50,))))
    kinds = [node.op_type for node in models.embedder(checkpoint, "int8", "cls").graph.node]
    assert "MatMul" not in kinds


def test_the_demo_reranker_splits_a_pair_at_its_first_separator(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = BertModel(BertConfig(**SIZES, max_position_embeddings=512)).eval()
    checkpoint = models.checkpoint_of(model)
    run = _load(models.demo_reranker(checkpoint, 1, 2, "fp32"), tmp_path)
    embed = _load(models.embedder(checkpoint, "fp32", "mean"), tmp_path / "embedder")
    left, right = np.array([1, 50, 60, 2], np.int32), np.array([1, 70, 2, 80, 2], np.int32)
    cosine = float(np.dot(*embed([left, right])))
    other = np.array([1, 9, 2, 9, 2], np.int32)
    pair = np.concatenate([left, right[1:]])
    assert abs(run([other, pair])[1] - models.demo_score(cosine)) < 1e-5


def test_fp16_for_cuda_uses_packed_attention_and_no_loop() -> None:
    graph = models.embedder(models.checkpoint_of(_xlmr()), "fp16", "cls").graph
    kinds = [node.op_type for node in graph.node]
    assert kinds.count("PackedMultiHeadAttention") == 2
    assert "Loop" not in kinds


def _only(model: onnx.ModelProto, wanted: list[str]) -> onnx.ModelProto:
    """The part of a model that computes INT32 values by name."""
    needed = set(wanted)
    kept: list[onnx.NodeProto] = []
    for node in reversed(model.graph.node):
        if needed & set(node.output):
            kept.insert(0, node)
            needed |= set(node.input)
    outputs = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.INT32, None) for name in wanted]
    weights = [weight for weight in model.graph.initializer if weight.name in needed]
    graph = onnx.helper.make_graph(kept, "part", model.graph.input, outputs, weights)
    return onnx.helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)


def test_fp16_token_offsets_name_the_slots_of_a_padded_block(tmp_path: Path) -> None:
    model = models.embedder(models.checkpoint_of(_xlmr()), "fp16", "cls")
    attention = next(node for node in model.graph.node if node.op_type == "PackedMultiHeadAttention")
    wanted = list(attention.input[4:6])
    loaded = ort.InferenceSession(_only(model, wanted).SerializeToString(), providers=["CPUExecutionProvider"])
    feed = {"input_ids": np.zeros(4, np.int32), "lengths": np.array([1, 3], np.int32)}
    offsets, running = loaded.run(None, feed)
    assert offsets.tolist() == [[0, 3, 4], [5, 1, 2]]
    assert running.tolist() == [0, 1, 4]
