from typing import Any

import pytest

from scripts.export_models.text import models
from scripts.export_models.text.checks import Run
from tests.unit.export_models.text.small import load, xlmr


@pytest.fixture(scope="package")
def embedder(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Run]:
    model = xlmr()
    graph = models.embedder(models.checkpoint_of(model), "fp32", "cls")
    return model, load(graph, tmp_path_factory.mktemp("embedder"))


@pytest.fixture(autouse=True)
def _one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests run beside each other."""
    monkeypatch.setattr("scripts.export_models.text.export.processors", lambda: 1)
