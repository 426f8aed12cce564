"""Checkpoints that tests export."""

from functools import cache
from pathlib import Path

from scripts.export_models.checkpoints import WHISPER_TURBO
from scripts.export_models.sources import DemoSource
from tests.conftest import ROOT


@cache
def whisper_base() -> Path:
    """Whisper base, laid out as on the hub; it is downloaded unless an export of the demo has done that."""
    return DemoSource(ROOT / "build" / "export" / "demo").fetch(WHISPER_TURBO)
