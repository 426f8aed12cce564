import pytest
from onnx import helper

from scripts.export_models.checkpoints import SourceError
from scripts.export_models.kokoro.graph import rewrite


def test_another_graph_is_refused() -> None:
    model = helper.make_model(helper.make_graph([], "test", [], []))
    with pytest.raises(SourceError, match="the pass 'plain' rewrote 0 of the graph's 0 integer layers"):
        rewrite(model)
