"""The graph for CUDA, which nothing here can run as it is."""

from scripts.export_models.text import models
from tests.unit.export_models.text.small import xlmr


def test_fp16_for_cuda_uses_packed_attention_and_no_loop() -> None:
    graph = models.embedder(models.checkpoint_of(xlmr()), "fp16", "cls").graph
    kinds = [node.op_type for node in graph.node]
    assert kinds.count("PackedMultiHeadAttention") == 2
    assert "Loop" not in kinds
