import json
import shutil
from pathlib import Path

import pytest

from scripts.export_models.checkpoints import SourceError
from scripts.export_models.whisper import checks
from scripts.export_models.whisper import export as whisper_export
from scripts.export_models.whisper.export import export_whisper
from tests.unit.whisper.conftest import CHECKPOINT


@pytest.mark.parametrize(("compute_type", "written"), [("int8", True), ("float16", False), ("float32", False)])
def test_the_encoder_is_a_graph_in_int8_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compute_type: str, written: bool
) -> None:
    monkeypatch.setattr(checks, "compare", lambda *_: [])
    export_whisper("whisper_turbo", CHECKPOINT, tmp_path, compute_type)
    assert (tmp_path / "whisper" / "encoder.xml").is_file() is written


@pytest.mark.parametrize(
    ("own", "exported"),
    [
        (None, {"min_window_seconds": 8.0, "beam_size": 1, "prompts": True}),
        ({"beam_size": 3}, {"min_window_seconds": 8.0, "beam_size": 3, "prompts": True}),
        ({"min_window_seconds": 2.0, "prompts": False}, {"min_window_seconds": 2.0, "beam_size": 1, "prompts": False}),
    ],
    ids=["nothing", "its beam", "its window and prompts"],
)
def test_what_a_checkpoint_says_of_itself_is_exported_and_the_rest_is_whispers_own(
    tmp_path: Path, own: dict[str, object] | None, exported: dict[str, object]
) -> None:
    source = tmp_path / "checkpoint"
    shutil.copytree(CHECKPOINT, source)
    (source / "quartet.json").unlink()
    if own is not None:
        (source / "quartet.json").write_text(json.dumps(own), encoding="utf-8")
    whisper_export.convert(source, tmp_path / "target", "float32")
    settings = json.loads((tmp_path / "target" / "quartet.json").read_text(encoding="utf-8"))
    assert settings.items() >= exported.items()


def test_a_checkpoint_whose_languages_nobody_could_detect_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "checkpoint"
    shutil.copytree(CHECKPOINT, source)
    tokenizer = (source / "tokenizer.json").read_text(encoding="utf-8")
    (source / "tokenizer.json").write_text(tokenizer.replace('"": ', '"ÿ": '), encoding="utf-8")
    with pytest.raises(SourceError, match="no multilingual Whisper: CTranslate2 finds no empty token"):
        whisper_export.convert(source, tmp_path / "target", "float32")


def test_the_demo_takes_no_prompts() -> None:
    assert json.loads((CHECKPOINT / "quartet.json").read_text(encoding="utf-8"))["prompts"] is False
