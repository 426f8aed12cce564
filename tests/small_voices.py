"""Piper's files of small voices with random weights."""

import shutil
import warnings
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from scripts.export_models import checkpoints
from scripts.export_models.sources import DemoSource
from tests.conftest import ROOT


@cache
def _description() -> Path:
    """That of the demo's voice; it is downloaded unless an export of the demo has done that."""
    folder = DemoSource(ROOT / "build" / "export" / "demo").fetch(checkpoints.VOICES)
    return checkpoints.voice_files(folder, "ryan")[1]


@cache
def _graph() -> bytes:
    # With torch, which takes seconds to import. Its exporter warns of itself.
    from tests import lookalike_voice

    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder, "voice.onnx")
        lookalike_voice.write(path)
        return path.read_bytes()


def write_voice(path: Path) -> None:
    """Write the ``.onnx`` file of a voice, with its description next to it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_graph())
    shutil.copy(_description(), path.with_name(f"{path.name}.json"))


def write_six(folder: Path) -> None:
    """Write the six voices of the contract, laid out as on the hub."""
    for path in checkpoints.VOICE_FILES.values():
        write_voice(folder / f"{path}.onnx")
