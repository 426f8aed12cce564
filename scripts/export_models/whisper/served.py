"""Imports the code that Triton runs for Whisper."""

from types import ModuleType

from scripts.export_models.triton_code import triton_module


def recognizer_module(name: str = "recognizer") -> ModuleType:
    """A module of Whisper's code in the model repository."""
    return triton_module("whisper_turbo", name)
