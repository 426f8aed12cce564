"""The graph for CUDA, which nothing here can run whole."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort

from scripts.export_models.text import models
from tests.unit.export_models.text.small import xlmr


def test_fp16_for_cuda_uses_packed_attention_and_no_loop() -> None:
    graph = models.embedder(models.checkpoint_of(xlmr()), "fp16", "cls").graph
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
    model = models.embedder(models.checkpoint_of(xlmr()), "fp16", "cls")
    attention = next(node for node in model.graph.node if node.op_type == "PackedMultiHeadAttention")
    wanted = list(attention.input[4:6])
    loaded = ort.InferenceSession(_only(model, wanted).SerializeToString(), providers=["CPUExecutionProvider"])
    feed = {"input_ids": np.zeros(4, np.int32), "lengths": np.array([1, 3], np.int32)}
    offsets, running = loaded.run(None, feed)
    assert offsets.tolist() == [[0, 3, 4], [5, 1, 2]]
    assert running.tolist() == [0, 1, 4]
