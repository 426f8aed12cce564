"""What a Whisper model can do, as its export and its configuration say."""

import json
from collections.abc import Set
from dataclasses import dataclass
from pathlib import Path

from google.protobuf import text_format
from tritonclient.grpc.model_config_pb2 import ModelConfig

from frontend.audio.prepare import WindowRules
from frontend.catalogue.extensions import MORE_AUDIO
from frontend.config.reading import SettingsError
from frontend.config.settings import Settings

# The optional input for translations.
TRANSLATE = "translate"


@dataclass(frozen=True)
class Abilities:
    """A Whisper model's window in seconds, to which shorter ones are padded, and its languages."""

    window_seconds: float
    languages: Set[str] = frozenset()

    @classmethod
    def of(cls, repository: Path, model: str) -> "Abilities":
        """Read the abilities from the exported model."""
        path = repository / model / "1" / "whisper" / "quartet.json"
        settings = json.loads(path.read_text(encoding="utf-8"))
        return cls(float(settings["window_seconds"]), settings["languages"].keys())

    def rules(self, settings: Settings) -> WindowRules:
        """The rules for reading a file."""
        return WindowRules(
            silence_dbfs=settings.silence_dbfs,
            speech_probability=settings.speech_probability,
            window_seconds=self.window_seconds,
            more_audio=MORE_AUDIO in settings.served.extensions,
        )


def check_translation(repository: Path, model: str) -> None:
    """Raise ``SettingsError`` if a Triton model has no input for translations."""
    path = repository / model / "config.pbtxt"
    config = text_format.Parse(path.read_text(encoding="utf-8"), ModelConfig())
    if TRANSLATE not in (tensor.name for tensor in config.input):
        raise SettingsError(f"QUARTET_EXTENSIONS: translations: {path} has no input {TRANSLATE!r}: export again")
