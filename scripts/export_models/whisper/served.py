"""The code that Triton runs for Whisper, for whoever else needs it."""

from types import ModuleType

from scripts.export_models.triton_code import triton_module


def recognizer_module(name: str = "recognizer") -> ModuleType:
    """The code that Triton runs, imported from the model repository where it lies."""
    return triton_module("whisper_turbo", name)
