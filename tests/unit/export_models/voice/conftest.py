"""A vocoder of Piper's layers and few channels."""

from pathlib import Path

import pytest

from tests.small_voices import write_voice


@pytest.fixture(scope="package")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its file, with its description beside it."""
    path = tmp_path_factory.mktemp("voice") / "amy.onnx"
    write_voice(path)
    return path


@pytest.fixture(autouse=True)
def _one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests run beside each other."""
    monkeypatch.setattr("scripts.export_models.voice.processors", lambda: 1)
