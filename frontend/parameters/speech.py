"""What ``POST /v1/audio/speech`` and the mobile endpoint take."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from frontend.catalogue.extensions import SPEECH_SPEED, SPEECH_STREAMING
from frontend.catalogue.models import SPEECH, Served
from frontend.catalogue.voices import AUDIO_FORMATS
from frontend.errors import ApiError, InvalidRequest, TooLarge
from frontend.parameters.kinds import NOTHING, Choice, ModelName, Name, Number, Text
from frontend.parameters.table import Table

LONGEST_INPUT = 5000  # code points
SLOWEST, FASTEST = 0.5, 2.0
AUDIO, EVENTS = "audio", "sse"
# Ways to stream an answer.
STREAM_FORMATS = (AUDIO, EVENTS)


@dataclass(frozen=True, kw_only=True)
class Spoken(Text):
    """A text to speak; not blank."""

    required: bool = True
    longest: float = LONGEST_INPUT
    too_long: type[ApiError] = TooLarge

    def missing(self, served: Served) -> str:
        return f"{self.name} must be a text that is not empty"

    def check(self, value: Any, served: Served) -> Any:
        if isinstance(value, str) and not value.strip():
            raise InvalidRequest(self.missing(served), param=self.name)
        return super().check(value, served)


@dataclass(frozen=True, kw_only=True)
class _StreamFormat(Choice):
    """A way to stream the answer."""

    def read(self, values: Mapping[str, Any], served: Served = NOTHING) -> Any:
        # Voice agents ask for PCM to play it at once, and some leave this out.
        return super().read(values, served) or (AUDIO if values.get("response_format") == "pcm" else "")

    def ignore(self, value: Any) -> None:
        if value == EVENTS:
            raise self.refusal("must be audio: this endpoint sends no events")


def _speed(served: Served) -> str:
    if SPEECH_SPEED in served.extensions:
        return "How fast the voice speaks, without a change of pitch; 1 is its own speed."
    return "Checked, then ignored."


VOICE = Name("voice", "Optional if language has a default voice.", named=Served.voice_names, listed="voices are")
PARAMETERS = Table(
    Spoken("input", "The text to speak."),
    VOICE,
    ModelName(description="All names give the same model.", named=lambda served: served.model_names(SPEECH)),
    Choice(
        "response_format",
        names=lambda served: served.audio_formats,
        default=lambda served: served.aliases.speech_format or "wav",
    ),
    Number("speed", _speed, least=SLOWEST, most=FASTEST),
    Text(
        "language",
        "Selects the default voice if voice is absent; case does not matter.",
        examples=lambda served: list(served.defaults_by_language),
    ),
    _StreamFormat(
        "stream_format",
        "Send the speech sentence by sentence, as bytes or as events. Without it, the answer is whole.",
        names=STREAM_FORMATS,
        needs=SPEECH_STREAMING,
    ),
    of_clients=(
        "user",
        "instructions",
        "stream",  # the same sound, all at once
        "stream_format",  # only audio
        "backend",
        "lang_code",
        "download_format",
        "return_download_link",
        "normalization_options",
    ),
)
MOBILE = Table(
    Spoken("text"),
    replace(VOICE, description="", required=True),
    Choice("format", names=AUDIO_FORMATS, default="mp3"),
)
