"""The OpenAPI description of transcription."""

from frontend.catalogue.extensions import SUBTITLES, TRANSCRIPT_STREAMING
from frontend.catalogue.models import Served
from frontend.http.schemas import OpenApiFragment, Schema
from frontend.operations.transcription.answers import MobileTranscription, Transcription
from frontend.parameters.transcription import MOBILE, PARAMETERS, TRANSLATIONS


def answer(own: OpenApiFragment, *, streams: bool) -> Schema:
    """JSON, text, and the formats of extensions."""
    kinds = ["text/plain", *(["text/event-stream"] if streams else [])]
    if SUBTITLES in own.served.extensions:
        kinds += ["application/x-subrip", "text/vtt"]
    text = {kind: {"schema": {"type": "string"}} for kind in kinds}
    return {"content": {**own.answers(Transcription)["content"], **text}}


def describe(served: Served) -> OpenApiFragment:
    own = OpenApiFragment(served)
    given = answer(own, streams=TRANSCRIPT_STREAMING in served.extensions)
    own.post("/v1/audio/transcriptions", "createTranscription", "Speech to text", own.takes(PARAMETERS), given)
    if served.translators():
        form, given = own.takes(TRANSLATIONS), answer(own, streams=False)
        own.post("/v1/audio/translations", "createTranslation", "Speech to English text", form, given)
    form, given = OpenApiFragment(served.contract).takes(MOBILE), own.answers(MobileTranscription)
    own.post("/api/v1/audio/transcribe", "transcribe", "Speech to text, for mobile apps", form, given)
    return own
