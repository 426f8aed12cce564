"""A vocoder of Piper's layers and few channels."""

import shutil
import warnings
from pathlib import Path

import pytest

from scripts.benchmark.lookalikes import voice
from tests.conftest import ROOT

DESCRIPTION = ROOT / "model_repository" / "piper_amy" / "1" / "voice.json"


@pytest.fixture(scope="package")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its file, with its description beside it."""
    path = tmp_path_factory.mktemp("voice") / "amy.onnx"
    # torch's exporter warns of itself.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        voice.write(path, DESCRIPTION, voice.TINY)
    shutil.copy(DESCRIPTION, path.with_name("amy.onnx.json"))
    return path
