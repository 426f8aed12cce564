"""A folder of Piper's checkpoints, made without large imports."""

import shutil
from pathlib import Path

from scripts.export_models import checkpoints
from tests.conftest import ROOT


def demo_voices(folder: Path) -> None:
    """Copy the demo voices to ``folder`` under the names of Piper's voices."""
    for name, path in checkpoints.VOICE_FILES.items():
        exported = ROOT / "model_repository" / f"piper_{name}" / "1"
        target = folder / f"{path}.onnx"
        target.parent.mkdir(parents=True)
        shutil.copy(exported / "model.onnx", target)
        shutil.copy(exported / "voice.json", target.with_name(f"{target.name}.json"))
