from pathlib import Path

import pytest

from scripts.export_models import export_whisper
from scripts.export_models.export_whisper import export_whisper as export
from tests.unit.whisper.conftest import CHECKPOINT


@pytest.mark.parametrize(
    ("compute_type", "fast", "written"), [("int8", True, True), ("int8", False, False), ("float32", True, False)]
)
def test_the_encoder_is_a_graph_in_int8_where_that_is_fast(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compute_type: str, fast: bool, written: bool
) -> None:
    monkeypatch.setattr(export_whisper, "int8_is_fast", lambda: fast)
    monkeypatch.setattr(export_whisper, "compare", lambda *_: [])
    export("whisper_turbo", CHECKPOINT, tmp_path, compute_type)
    assert (tmp_path / "whisper" / "encoder.onnx").is_file() is written
