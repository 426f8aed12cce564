"""The graphs for CUDA, which nothing here can run, by what ONNX Runtime documents of their operators."""

import math
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from numpy.typing import NDArray
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

from scripts.benchmark.common.vectors import apart
from scripts.export_models.text import models
from scripts.gpu_check import padded
from scripts.gpu_check.inputs import Ids
from scripts.gpu_check.texts import block, packed
from tests.unit.export_models.text.small import load, xlmr

Array = NDArray[Any]


def _attend(q: Array, k: Array, v: Array, heads: int) -> Array:
    """Attention of one text: q [queries, width], k and v [keys, width]."""
    one, other, values = (rows.astype(np.float32).reshape(len(rows), heads, -1).swapaxes(0, 1) for rows in (q, k, v))
    scores = one @ other.swapaxes(1, 2) / np.sqrt(one.shape[-1])
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    answer = (weights / weights.sum(-1, keepdims=True)) @ values
    attended: Array = answer.swapaxes(0, 1).reshape(q.shape).astype(q.dtype)
    return attended


class PackedMultiHeadAttention(OpRun):  # type: ignore[misc]
    op_domain = "com.microsoft"

    def _run(self, q: Array, k: Array, v: Array, _: None, slots: Array, ends: Array, num_heads: int) -> tuple[Array]:
        count, longest = slots.shape
        lengths = np.diff(ends)
        # The first slots are those of the tokens, in their order, and the others those of the padding.
        places = [text * longest + place for text in range(count) for place in range(lengths[text])]
        assert slots.ravel()[: len(q)].tolist() == places
        assert sorted(slots.ravel().tolist()) == list(range(count * longest))
        texts = [slice(*pair) for pair in zip(ends, ends[1:], strict=False)]
        return (np.concatenate([_attend(q[text], k[text], v[text], num_heads) for text in texts]),)


class MultiHeadAttention(OpRun):  # type: ignore[misc]
    op_domain = "com.microsoft"

    def _run(self, q: Array, k: Array, v: Array, _: None, mask: Array, num_heads: int) -> tuple[Array]:
        count, longest = q.shape[:2]
        lengths, *starts = np.split(mask, [count, 2 * count + 1])
        assert all(each.tolist() == [longest * text for text in range(count + 1)] for each in starts)
        rows = zip(q, k, v, lengths, strict=True)
        return (np.stack([_attend(a, b[:length], c[:length], num_heads) for a, b, c, length in rows]),)


class Gelu(OpRun):  # type: ignore[misc]
    op_domain = "com.microsoft"

    def _run(self, x: Array, **_: Any) -> tuple[Array]:
        return ((x * 0.5 * (1 + np.vectorize(math.erf)(x / np.sqrt(2)))).astype(x.dtype),)


@pytest.fixture(scope="module")
def trained() -> models.Trained:
    model = xlmr()
    # Weights this small would make the vectors of all texts much alike.
    with torch.no_grad():
        for parameter in model.encoder.parameters():
            parameter.mul_(4)
    return models.checkpoint_of(model)


@pytest.fixture(scope="module")
def texts() -> Ids:
    return [np.arange(5, 5 + length, dtype=np.int32) for length in (3, 17, 1, 8)]


@pytest.fixture(scope="module")
def wanted(trained: models.Trained, texts: Ids, tmp_path_factory: pytest.TempPathFactory) -> Array:
    return load(models.embedder(trained, "fp32", "cls"), tmp_path_factory.mktemp("model"))(texts)


def _vectors(graph: onnx.ModelProto, inputs: dict[str, Array]) -> Array:
    operators = [PackedMultiHeadAttention, MultiHeadAttention, Gelu]
    answer: Array = ReferenceEvaluator(graph, new_ops=operators).run(None, inputs)[0]
    return answer


def test_the_packed_graph_for_cuda_gives_the_vectors_of_the_one_for_processors(
    trained: models.Trained, texts: Ids, wanted: Array
) -> None:
    assert apart(_vectors(models.embedder(trained, "fp16", "cls"), packed(texts)), wanted) < 1e-4


def test_the_padded_graph_for_cuda_gives_the_vectors_of_the_one_for_processors(
    trained: models.Trained, texts: Ids, wanted: Array
) -> None:
    assert apart(_vectors(padded.embedder(trained, half=True), block(texts)), wanted) < 1e-4


def test_vectors_of_other_texts_are_further_apart_than_parity_allows(wanted: Array) -> None:
    assert min(apart(one[None], other[None]) for one, other in zip(wanted, wanted[1:], strict=False)) > 1e-2
