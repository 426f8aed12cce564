import onnx
import pytest
from onnx import helper

from scripts.export_models.checkpoints import SourceError
from scripts.export_models.graphs.passes import Pass, nodes


@pytest.mark.parametrize(("found", "rewritten"), [(3, 2), (0, 0), (1, 2)])
def test_a_pass_that_does_not_match_a_graph_is_a_sentence(found: int, rewritten: int) -> None:
    model = onnx.ModelProto()
    model.graph.node.extend([helper.make_node("Conv", ["x", "w"], ["y"])] * found)
    with pytest.raises(SourceError) as caught:
        Pass("upsampling", "parts", nodes("Conv"), lambda _: rewritten).run(model)
    assert str(caught.value) == f"the pass 'upsampling' rewrote {rewritten} of the graph's {found} parts"
