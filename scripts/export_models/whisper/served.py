"""The code that Triton runs for Whisper, for whoever else needs it."""

from types import ModuleType

from scripts.export_models.graphs.served import served


def recognizer_module(name: str = "recognizer") -> ModuleType:
    """The code that Triton runs, imported from the model repository where it lies."""
    return served("whisper_turbo", name)
