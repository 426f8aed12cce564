"""The OpenAPI description of speech."""

from typing import Any

from frontend.catalogue.models import Served
from frontend.http.schemas import OpenApiFragment
from frontend.operations.speech.protocol import Voices
from frontend.parameters.speech import MOBILE, PARAMETERS

_EXAMPLE = "Good morning."
BINARY = {"schema": {"type": "string", "format": "binary"}}
# Never sent: openapi-python-client leaves out an answer that is only audio.
BYTES = "application/octet-stream"


def _audio(served: Served) -> dict[str, Any]:
    return {"content": dict.fromkeys([*served.audio_formats.values(), BYTES], BINARY)}


def describe(served: Served) -> OpenApiFragment:
    own, first = OpenApiFragment(served), {"voice": served.voices[0].name}
    body = own.takes(PARAMETERS, {"input": _EXAMPLE, **first})
    own.post("/v1/audio/speech", "createSpeech", "Text to speech", body, _audio(served))
    own.post(
        "/api/v1/audio/synthesize",
        "synthesize",
        "Text to speech, for mobile apps",
        OpenApiFragment(served.contract).takes(MOBILE, {"text": _EXAMPLE, **first}),
        _audio(served.contract),
    )
    summary = "List the voices and the default of each language"
    own.get("/api/v1/audio/voices", "listVoices", summary, own.answers(Voices))
    return own
