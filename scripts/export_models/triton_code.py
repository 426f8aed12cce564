"""Imports the code that Triton runs for a model."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

_REPOSITORY = Path(__file__).parents[2] / "model_repository"


def triton_module(model: str, name: str) -> ModuleType:
    """Import a module of ``model`` from the model repository; modules of different models have different names."""
    folder = str(_REPOSITORY / model / "1")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    return importlib.import_module(name)


def recognizer_module(name: str = "recognizer") -> ModuleType:
    """A module of Whisper's code."""
    return triton_module("whisper_turbo", name)
