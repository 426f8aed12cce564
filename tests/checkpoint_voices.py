"""A folder of Piper's checkpoints, for which nothing large has to be imported."""

import shutil
from pathlib import Path

from scripts.export_models import checkpoints
from tests.conftest import ROOT


def demo_voices(folder: Path) -> None:
    """The demo voices under the names of Piper's own."""
    for name, path in checkpoints.VOICE_FILES.items():
        exported = ROOT / "model_repository" / f"piper_{name}" / "1"
        target = folder / f"{path}.onnx"
        target.parent.mkdir(parents=True)
        shutil.copy(exported / "model.onnx", target)
        shutil.copy(exported / "voice.json", target.with_name(f"{target.name}.json"))
