"""The code that Triton runs for a model, for whoever else needs it."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

_REPOSITORY = Path(__file__).parents[2] / "model_repository"


def triton_module(model: str, name: str) -> ModuleType:
    """A module of ``model``'s, imported from the model repository where it lies. No two models' share a name."""
    folder = str(_REPOSITORY / model / "1")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    return importlib.import_module(name)
