import os
from typing import Any

import pytest

# As in the worker, before anything imports torch.
os.environ["PYTORCH_JIT"] = "0"


@pytest.fixture(scope="package")
def embedder(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    """A small model, and its packed graph in fp32 as a function."""
    # Most tests here need no library of models.
    from scripts.export_models import text_graph
    from tests.unit.export_models.small_texts import load, xlmr

    model = xlmr()
    graph = text_graph.embedder(text_graph.trained(model), "fp32", "cls")
    return model, load(graph, tmp_path_factory.mktemp("embedder"))
