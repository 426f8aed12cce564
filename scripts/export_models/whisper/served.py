"""The code that Triton runs for Whisper, for whoever else needs it."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

_MODEL_CODE = Path(__file__).parents[3] / "model_repository" / "whisper_turbo" / "1"


def recognizer_module(name: str = "recognizer") -> ModuleType:
    """The code that Triton runs, imported from the model repository where it lies."""
    if str(_MODEL_CODE) not in sys.path:
        sys.path.insert(0, str(_MODEL_CODE))
    return importlib.import_module(name)
