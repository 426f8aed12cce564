"""The code of Triton's Whisper model, imported from the model repository, with Whisper base to try it on."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from scripts.export_models.triton_code import recognizer_module
from scripts.export_models.whisper import convert
from tests.checkpoints import whisper_base
from tests.unit.whisper.engines import ScriptedEngine, ctranslate_engine, tokens_of


@pytest.fixture(scope="session")
def checkpoint() -> Path:
    return whisper_base()


@pytest.fixture(scope="session")
def module() -> ModuleType:
    return recognizer_module()


@pytest.fixture(scope="session")
def converted(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Whisper base in float32, for CTranslate2."""
    folder = tmp_path_factory.mktemp("whisper") / "float32"
    convert(checkpoint, folder, "float32")
    return folder


@pytest.fixture(scope="session")
def tokens(exported: Path) -> Any:
    return tokens_of(exported)


@pytest.fixture(scope="package")
def recognizer(module: ModuleType, exported: Path) -> Any:
    return module.Recognizer(exported, threads=2)


@pytest.fixture(scope="package")
def engine(recognizer: Any) -> Any:
    """OpenVINO's, which searches greedily."""
    return recognizer._engine


@pytest.fixture(scope="package")
def ctranslate(converted: Path) -> Any:
    return ctranslate_engine(converted)


@pytest.fixture
def scripted_with(
    module: ModuleType, tokens: Any, exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., ScriptedEngine]:
    """Makes an engine that a recognizer of its own asks, with these settings in ``quartet.json``."""

    def make(*, together: bool = False, **settings: Any) -> ScriptedEngine:
        engine = ScriptedEngine(tokens, encodes_together=together)
        monkeypatch.setattr(recognizer_module("openvino_engine"), "OpenVinoEngine", lambda *_, **__: engine)
        monkeypatch.setattr(module, "Tokens", lambda *_: tokens)
        folder = tmp_path / "whisper"
        folder.mkdir()
        shutil.copy(exported / "tokenizer.json", folder)
        written = json.loads((exported / "quartet.json").read_text(encoding="utf-8")) | settings
        said = {name: value for name, value in written.items() if value is not None}
        (folder / "quartet.json").write_text(json.dumps(said), encoding="utf-8")
        engine.recognizer = module.Recognizer(folder)
        return engine

    return make
