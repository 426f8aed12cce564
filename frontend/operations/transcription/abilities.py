"""What a Whisper model can do, as its export says."""

import json
from collections.abc import Set
from dataclasses import dataclass
from pathlib import Path

from frontend.audio.prepare import WindowRules
from frontend.config.settings import Settings


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
        )
