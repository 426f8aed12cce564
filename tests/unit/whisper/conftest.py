"""The code of Triton's Whisper model, imported from the model repository, and checkpoints to try it on."""

import json
import shutil
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from scripts.export_models.whisper.export import convert
from scripts.export_models.whisper.served import recognizer_module
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
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """In int8, with graphs."""
    folder = tmp_path_factory.mktemp("whisper") / "int8"
    convert(CHECKPOINT, folder, "int8", graphs=True)
    return folder


@pytest.fixture(scope="session")
def exported_for_one_length(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same of a checkpoint that takes whole windows alone, as stock ones do."""
    folder = tmp_path_factory.mktemp("whisper")
    shutil.copytree(CHECKPOINT, folder / "checkpoint", ignore=shutil.ignore_patterns("quartet.json"))
    convert(folder / "checkpoint", folder / "int8", "int8", graphs=True)
    return folder / "int8"


@pytest.fixture(scope="session")
def recognizer(module: ModuleType, converted: Path) -> Any:
    return module.Recognizer(converted, threads=2)


@pytest.fixture(scope="session")
def prompted(module: ModuleType, converted: Path) -> Any:
    """The same checkpoint as one that takes prompts, as the real ones do."""
    folder = converted.with_name("prompted")
    shutil.copytree(converted, folder)
    settings = json.loads((folder / "quartet.json").read_text(encoding="utf-8"))
    (folder / "quartet.json").write_text(json.dumps({**settings, "prompts": True}), encoding="utf-8")
    return module.Recognizer(folder, threads=2)
