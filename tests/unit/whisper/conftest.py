"""The code of Triton's Whisper model, imported from the model repository, and checkpoints to try it on."""

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from scripts.export_models.export_whisper import convert, recognizer_module
from tests.conftest import ROOT

CHECKPOINT = ROOT / "scripts" / "export_models" / "demo" / "whisper"


@pytest.fixture(scope="session")
def module() -> ModuleType:
    return recognizer_module()


@pytest.fixture(scope="session")
def converted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whisper") / "demo"
    convert(CHECKPOINT, folder, "float32")
    return folder


@pytest.fixture(scope="session")
def recognizer(module: ModuleType, converted: Path) -> Any:
    return module.Recognizer(converted, threads=2)
