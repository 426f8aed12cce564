"""A vocoder of Piper's layers and few channels."""

import shutil
import warnings
from pathlib import Path

import pytest

from tests import lookalike_voice
from tests.conftest import ROOT

DESCRIPTION = ROOT / "model_repository" / "piper_amy" / "1" / "voice.json"


@pytest.fixture(scope="package")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its file, with its description beside it."""
    path = tmp_path_factory.mktemp("voice") / "amy.onnx"
    # torch's exporter warns of itself.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lookalike_voice.write(path)
    shutil.copy(DESCRIPTION, path.with_name("amy.onnx.json"))
    return path


@pytest.fixture(autouse=True)
def _one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests run beside each other."""
    monkeypatch.setattr("scripts.export_models.voices.export.processors", lambda: 1)
