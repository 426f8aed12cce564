"""Look-alikes of the real checkpoints, small and random, against the Hugging Face models they are exported from."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import openvino
import pytest
import torch
from onnx import helper
from transformers import BertConfig, BertModel, XLMRobertaConfig, XLMRobertaForSequenceClassification

from scripts.export_models import text_graph
from scripts.export_models.onnx_graph import Graph, Linear
from scripts.export_models.onnx_passes import replace_nodes
from scripts.export_models.precisions import Precision
from scripts.export_models.text import write
from scripts.export_models.text_checks import FP16, Run
from scripts.export_models.text_graph import (
    Encoder,
    EncoderShape,
    PairScore,
    Pooling,
    packed_inputs,
    text_inputs,
    trained,
)
from scripts.export_models.text_int8 import calibrate
from scripts.export_models.triton_code import triton_module
from tests.processors import exact_int8
from tests.unit.export_models.packed_attention import PACKED, on_a_processor
from tests.unit.export_models.small_texts import LENGTHS, SIZES, first_token, load, texts, xlmr


@pytest.mark.parametrize("length", LENGTHS)
def test_a_text_of_any_length_has_the_originals_vector(embedder: tuple[Any, Run], length: int) -> None:
    model, run = embedder
    (text,) = texts((length,))
    assert np.abs(run([text])[0] - first_token(model, text)).max() < 1e-5


def test_a_vector_is_the_same_alone_and_in_a_batch(embedder: tuple[Any, Run]) -> None:
    _, run = embedder
    given = texts(LENGTHS[:-1])
    together = run(given)
    assert max(np.abs(run([text])[0] - row).max() for text, row in zip(given, together, strict=True)) < 1e-5


def test_a_narrower_model_that_is_padded_ends_in_zeros(tmp_path: Path, embedder: tuple[Any, Run]) -> None:
    model, run = embedder
    padded = load(text_graph.embedder(trained(model), "fp32", "cls", promised=100), tmp_path)(texts((9,)))
    assert padded.shape == (1, 100)
    assert (padded[:, :64] == run(texts((9,)))).all()
    assert not padded[:, 64:].any()


def test_a_bert_checkpoint_has_the_originals_vector(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = BertModel(BertConfig(**SIZES, max_position_embeddings=512)).eval()
    run = load(text_graph.embedder(trained(model), "fp32", "cls"), tmp_path)
    for text in texts((1, 9, 300)):
        assert np.abs(run([text])[0] - first_token(model, text)).max() < 1e-5


def test_mean_pooling_is_the_mean_of_each_text(tmp_path: Path) -> None:
    model = xlmr()
    run = load(text_graph.embedder(trained(model), "fp32", "mean"), tmp_path)
    given = texts((4, 700, 2))
    rows = run(given)
    for text, row in zip(given, rows, strict=True):
        with torch.inference_mode():
            hidden = model(input_ids=torch.from_numpy(text.astype(np.int64))[None]).last_hidden_state[0].mean(0)
        wanted = torch.nn.functional.normalize(hidden, dim=0).numpy()
        assert np.abs(row - wanted).max() < 1e-5


def test_products_on_a_processor_have_a_multiple_of_sixteen_rows() -> None:
    """OpenVINO keeps memory for each number that it has seen."""
    g = Graph()
    ids, pack = packed_inputs(g)
    for name, rows in (("every", ""), ("first", pack.starts)):
        g.op("Identity", Encoder(g, trained(xlmr()), "fp32").build(ids, pack, rows), output=name)
    hidden = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [name, 64]) for name in ("every", "first")]
    core = openvino.Core()
    compiled = core.compile_model(core.read_model(g.model(text_inputs(), hidden).SerializeToString()), "CPU")
    for lengths, wanted in (([1], (16, 16)), ([16], (16, 16)), ([2] * 17, (48, 32))):
        found = compiled([np.full(sum(lengths), 7, np.int32), np.array(lengths, np.int32)])
        assert (len(found["every"]), len(found["first"])) == wanted


def test_the_reranker_gives_the_originals_scores(tmp_path: Path) -> None:
    torch.manual_seed(0)
    config = XLMRobertaConfig(**SIZES, max_position_embeddings=8194, type_vocab_size=1, num_labels=1)
    model = XLMRobertaForSequenceClassification(config).eval()
    run = load(text_graph.reranker(trained(model), "fp32"), tmp_path)
    given = texts((3, 40, 2000))
    for text, score in zip(given, run(given), strict=True):
        with torch.inference_mode():
            logit = model(input_ids=torch.from_numpy(text.astype(np.int64))[None]).logits[0, 0]
        assert abs(score - torch.sigmoid(logit).item()) < 1e-5


HEAD = Linear(np.random.default_rng(3).normal(0, 0.3, (64, 1)).astype(np.float32), np.array([0.02], np.float32))


@pytest.mark.parametrize("precision", ["fp32", pytest.param("int8", marks=exact_int8)])
@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_tokens_weigh_what_flag_embedding_says_and_vectors_stay(
    tmp_path: Path, precision: Precision, pooling: Pooling
) -> None:
    """FlagEmbedding: ``torch.relu(sparse_linear(last_hidden_state))``."""
    model, given = xlmr(), texts((1, 2, 17, 257, 1000))
    of_int8 = calibrate(model, given) if precision == "int8" else {}
    for name, head in (("with", HEAD), ("without", None)):
        (tmp_path / name).mkdir()
        write(text_graph.embedder(trained(model, of_int8), precision, pooling, 0, head), precision, tmp_path / name)
    graph, plain = (triton_module("m3_embedder", "texts").TextModel(tmp_path / name, 1) for name in ("with", "without"))
    layer = torch.nn.Linear(64, 1)
    layer.load_state_dict({"weight": torch.from_numpy(HEAD.weight.T), "bias": torch.from_numpy(HEAD.bias)})
    rows, weights = graph.weigh(given, np.ones(len(given), bool))
    with torch.inference_mode():
        states = [model(input_ids=torch.from_numpy(text.astype(np.int64))[None]).last_hidden_state for text in given]
        wanted = [torch.relu(layer(each))[0, :, 0].numpy() for each in states]
    error = np.linalg.norm(np.concatenate(weights) - np.concatenate(wanted)) / np.linalg.norm(np.concatenate(wanted))
    assert error < (1e-5 if precision == "fp32" else 3e-2)
    assert np.abs(rows - plain.compute(given)).max() < (1e-5 if precision == "fp32" else 1e-2)


@pytest.mark.parametrize("precision", ["fp32", pytest.param("int8", marks=exact_int8)])
def test_weights_and_vectors_do_not_depend_on_the_company(tmp_path: Path, precision: Precision) -> None:
    model, given = xlmr(), texts((1, 2, 17, 40, 41, 64, 257, 1000))
    of_int8 = calibrate(model, given) if precision == "int8" else {}
    write(text_graph.embedder(trained(model, of_int8), precision, "cls", 0, HEAD), precision, tmp_path)
    graph = triton_module("m3_embedder", "texts").TextModel(tmp_path, 1)
    every = np.ones(len(given), bool)
    rows, weights = graph.weigh(given, every)
    some = np.arange(len(given)) % 2 == 0
    for asked in (some, ~some, ~every):
        rows_of_some, weights_of_some = graph.weigh(given, asked)
        assert (rows_of_some == rows).all()
        for is_asked, found, text in zip(asked, weights_of_some, weights, strict=True):
            assert (found == text * is_asked).all()
    for text, row, found in zip(given, rows, weights, strict=True):
        alone = graph.weigh([text], every[:1])
        assert (alone[0][0] == row).all()
        assert (alone[1][0] == found).all()


SCORE = PairScore(slope=12.0, middle=0.2, start=1, separator=2)


@pytest.fixture(scope="module")
def by_cosine(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Run]:
    """An encoder as a reranker and as an embedder."""
    torch.manual_seed(0)
    checkpoint = trained(BertModel(BertConfig(**SIZES, max_position_embeddings=512)).eval())
    graphs = (
        text_graph.cosine_reranker(checkpoint, "fp32", "mean", SCORE),
        text_graph.embedder(checkpoint, "fp32", "mean"),
    )
    rerank, embed = (load(graph, tmp_path_factory.mktemp("by_cosine")) for graph in graphs)
    return rerank, embed


@pytest.mark.parametrize("second", [[70, 80], [70, 2, 80], []], ids=["plain", "with a separator", "empty"])
def test_an_encoder_scores_a_pair_by_the_cosine_of_its_texts(by_cosine: tuple[Run, Run], second: list[int]) -> None:
    rerank, embed = by_cosine
    left, right = np.array([1, 50, 60, 2], np.int32), np.array([1, *second, 2], np.int32)
    pair, other = np.array([*left, 2, *right[1:]], np.int32), np.array([1, 9, 2, 2, 9, 2], np.int32)
    cosine = float(np.dot(*embed([left, right])))
    assert abs(rerank([other, pair, other])[1] - SCORE.of(cosine)) < 1e-5


def test_a_pair_without_separators_has_a_score(by_cosine: tuple[Run, Run]) -> None:
    """As in the run that warms the graph up."""
    rerank, _ = by_cosine
    scores = rerank([np.array([0], np.int32), np.array([0, 0], np.int32)])
    assert ((scores > 0) & (scores < 1)).all()


def test_a_configuration_without_a_type_of_positions_has_absolute_ones() -> None:
    config = XLMRobertaConfig(**SIZES)
    del config.position_embedding_type
    assert EncoderShape.of(config) == EncoderShape(layers=2, heads=4, width=64, epsilon=1e-12, first_position=2)


@pytest.mark.parametrize("other", [{"position_embedding_type": "relative_key"}, {"hidden_act": "relu"}])
def test_other_positions_and_activations_are_refused(other: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="only gelu and absolute positions are known"):
        EncoderShape.of(XLMRobertaConfig(**SIZES, **other))


# In fp16, for CUDA

SOME = texts((1, 2, 3, 17, 64, 257))


def _for_cuda(original: Any) -> onnx.ModelProto:
    """64 numbers, 4 heads."""
    return text_graph.embedder(text_graph.trained(original), "fp16", "cls")


def _error(model: onnx.ModelProto, original: Any, folder: Path) -> float:
    """The largest 1 - cosine to the original's vectors, on a processor."""
    wanted = np.stack([first_token(original, text) for text in SOME])
    return float((1 - (on_a_processor(model, folder)(SOME) * wanted).sum(axis=1)).max())


def test_attention_in_fp16_is_one_packed_operator_per_layer_without_a_loop() -> None:
    kinds = [node.op_type for node in _for_cuda(xlmr()).graph.node]
    assert kinds.count(PACKED) == 2
    assert "Loop" not in kinds


def test_a_graph_for_cuda_has_the_originals_vectors(tmp_path: Path) -> None:
    assert _error(_for_cuda(xlmr()), xlmr(), tmp_path) < FP16.cosine


def test_a_reranker_for_cuda_gives_the_score_of_both_vectors(tmp_path: Path) -> None:
    checkpoint, pair = trained(xlmr()), np.array([1, 50, 60, 2, 2, 70, 80, 2], np.int32)
    (tmp_path / "embedder").mkdir()
    embed = on_a_processor(text_graph.embedder(checkpoint, "fp16", "mean"), tmp_path / "embedder")
    rerank = on_a_processor(text_graph.cosine_reranker(checkpoint, "fp16", "mean", SCORE), tmp_path)
    cosine = float(np.dot(*embed([pair[:4], np.append(np.int32(1), pair[5:])])))
    assert abs(rerank([pair])[0] - SCORE.of(cosine)) < FP16.score


def _half_of_the_heads(model: onnx.ModelProto) -> None:
    for node in _attentions(model):
        del node.attribute[:]
        node.attribute.append(helper.make_attribute("num_heads", 2))


def _one_token_later(model: onnx.ModelProto) -> None:
    g, nodes = Graph(prefix="fault_"), list(model.graph.node)
    changed = g.op("Add", _attentions(model)[0].input[5], g.weight(np.array([0, 1, 1, 1, 1, 1, 0], np.int32), "c"))
    first = nodes.index(_attentions(model)[0])
    for node in _attentions(model):
        node.input[5] = changed
    replace_nodes(model.graph, [*nodes[:first], *g.nodes, *nodes[first:]])
    model.graph.initializer.extend(g.weights)


def _attentions(model: onnx.ModelProto) -> list[onnx.NodeProto]:
    return [node for node in model.graph.node if node.op_type == PACKED]


@pytest.mark.parametrize("put_in", [_half_of_the_heads, _one_token_later])
def test_the_plain_operators_notice_a_wrong_graph_for_cuda(
    tmp_path: Path, put_in: Callable[[onnx.ModelProto], None]
) -> None:
    original = xlmr()
    with torch.no_grad():
        for parameter in original.parameters():
            parameter.mul_(4)
    model = _for_cuda(original)
    put_in(model)
    assert _error(model, original, tmp_path) > FP16.cosine
