"""What ONNX Runtime's PackedMultiHeadAttention demands of its inputs, read from a finished graph.

From its documentation (docs/ContribOperators.md) and its CUDA source (packed_multihead_attention.cc, flash_api.cc).
It knows nothing of how our graphs are built.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from numpy.typing import NDArray
from onnx import TensorProto, helper
from onnx.utils import Extractor

from scripts.export_models.graphs.rewriting import attributes_of, nodes_of
from scripts.export_models.graphs.values import Value

KIND = "PackedMultiHeadAttention"
# Its inputs by their places.
_QKV, _OFFSETS, _RUNNING = (0, 1, 2), 4, 5
_UNWANTED = {
    3: "a bias of queries, keys and values is not emulated",
    6: "an attention bias switches flash attention off",
}
# Flash attention takes heads of a multiple of 8 numbers, up to 256. All else falls to the kernel that pads, and keeps
# every text's scores of each token with each: 8,192 tokens of 16 heads are 2 GB.
_HEAD_STEP, _HEAD_MOST = 8, 256

Lengths = Sequence[int]
# Token offsets [texts, longest] and running lengths [texts + 1] for the ids of texts, end to end, and their lengths.
Layout = Callable[[NDArray[np.int32], NDArray[np.int32]], tuple[NDArray[Any], NDArray[Any]]]


def unmet(model: onnx.ModelProto, values: Mapping[str, Value]) -> Sequence[str]:
    """A sentence for each demand on types and shapes that a packed attention of the graph does not meet."""
    nodes = nodes_of(model, KIND)
    return [reason for node in nodes for reason in _unmet(node, values)] or ([] if nodes else [f"there is no {KIND}"])


def _unmet(node: onnx.NodeProto, values: Mapping[str, Value]) -> Iterator[str]:
    inputs = list(node.input)
    queries, keys, others = (values[inputs[place]] for place in _QKV)
    if queries.kind != TensorProto.FLOAT16:
        yield "flash attention takes fp16 alone"
    if not queries == keys == others or len(queries.shape) != 2:
        yield "queries, keys and values must be [tokens, width], all of one type"
    yield from (reason for place, reason in _UNWANTED.items() if place < len(inputs) and inputs[place])
    heads, width = attributes_of(node).get("num_heads", 0), queries.shape[-1] or 0
    if heads < 1 or width % heads:
        yield f"a width of {width} does not divide among {heads} heads"
    elif (width // heads) % _HEAD_STEP or width // heads > _HEAD_MOST:
        yield f"flash attention has no heads of {width // heads} numbers"
    for place, what, rank in ((_OFFSETS, "token offsets", 2), (_RUNNING, "running lengths", 1)):
        value = values[inputs[place]]
        if value.kind != TensorProto.INT32 or len(value.shape) != rank:
            yield f"{what} must be INT32 of rank {rank}"


def layouts(model: onnx.ModelProto, values: Mapping[str, Value]) -> list[Layout]:
    """How the graph lays texts out: for each different pair of offsets and running lengths that attention is given."""
    pairs = dict.fromkeys((node.input[_OFFSETS], node.input[_RUNNING]) for node in nodes_of(model, KIND))
    return [_layout(model, values, list(pair)) for pair in pairs]


def _layout(model: onnx.ModelProto, values: Mapping[str, Value], names: list[str]) -> Layout:
    extractor = Extractor(model)
    # It would find them itself, if it knew the operators before them.
    extractor.value_infos |= {name: helper.make_tensor_value_info(name, values[name].kind, None) for name in names}
    part = extractor.extract_model([each.name for each in model.graph.input], names)
    session = ort.InferenceSession(part.SerializeToString(), providers=["CPUExecutionProvider"])

    def layout(ids: NDArray[np.int32], lengths: NDArray[np.int32]) -> tuple[NDArray[Any], NDArray[Any]]:
        offsets, running = session.run(names, {"input_ids": ids, "lengths": lengths})
        return offsets, running

    return layout


def laid_out(lengths: Lengths) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Token offsets and running lengths as they are documented, computed in the plainest way.

    In a block with a row for each text, first the places of all tokens in order, then those that nothing fills.
    """
    longest = max(lengths)
    filled = [row * longest + place for row, length in enumerate(lengths) for place in range(length)]
    empty = [row * longest + place for row, length in enumerate(lengths) for place in range(length, longest)]
    offsets = np.array(filled + empty, np.int32).reshape(len(lengths), longest)
    return offsets, np.array([sum(lengths[:count]) for count in range(len(lengths) + 1)], np.int32)


def misplaced(layout: Layout, texts: Sequence[NDArray[np.int32]], lengths: Lengths) -> bool:
    """Whether the texts are laid out otherwise than documented; attention sees texts of ``lengths`` apart."""
    found = layout(np.concatenate(texts), np.array([len(text) for text in texts], np.int32))
    return not all(np.array_equal(got, wanted) for got, wanted in zip(found, laid_out(lengths), strict=True))
