"""What a Whisper model can do, as its export and its configuration say."""

import json
import math
from collections.abc import Iterable, Set
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
    """A Whisper model's longest window in seconds, and its languages.

    A window is encoded with ``silence_seconds`` at least, up to a whole number of steps and at most as the longest.
    """

    window_seconds: float
    languages: Set[str] = frozenset()
    # An export of an earlier version encodes every window as the longest.
    silence_seconds: float = math.inf
    step_seconds: float = 1.0

    @classmethod
    def of(cls, repository: Path, model: str) -> "Abilities":
        """Read the abilities from the exported model."""
        path = repository / model / "1" / "whisper" / "quartet.json"
        settings = json.loads(path.read_text(encoding="utf-8"))
        silence = {name: float(settings[name]) for name in ("silence_seconds", "step_seconds") if name in settings}
        return cls(float(settings["window_seconds"]), settings["languages"].keys(), **silence)

    def work(self, windows: Iterable[float]) -> float:
        """The seconds that the model encodes for windows of these seconds."""
        return sum(self._encoded(seconds + self.silence_seconds) for seconds in windows)

    def _encoded(self, seconds: float) -> float:
        if seconds >= self.window_seconds:
            return self.window_seconds
        return min(self.window_seconds, math.ceil(seconds / self.step_seconds) * self.step_seconds)

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
