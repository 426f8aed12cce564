"""How many threads CTranslate2 is given."""

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from scripts.export_models.whisper.served import recognizer_module


@pytest.fixture
def code(module: ModuleType) -> ModuleType:
    return recognizer_module("ctranslate")


@pytest.mark.parametrize(("size", "threads"), [(31_000_000, 1), (33_000_000, 4)])
def test_a_small_checkpoint_has_one_thread(
    code: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, threads: int
) -> None:
    given: dict[str, Any] = {}
    monkeypatch.setattr(code.ctranslate2.models, "Whisper", lambda _, **settings: given.update(settings))
    with (tmp_path / "model.bin").open("wb") as file:
        file.truncate(size)
    code.CTranslate(tmp_path, device="cpu", device_index=0, compute_type="default", threads=4)
    assert given["intra_threads"] == threads
