"""The OpenAPI description of transcription."""

from frontend.catalogue.extensions import SUBTITLES, TRANSCRIPT_STREAMING
from frontend.catalogue.models import Served
from frontend.http.schemas import OpenApiFragment
from frontend.operations.transcription.answers import MobileTranscription, Transcription
from frontend.parameters.kinds import Schema
from frontend.parameters.transcription import MOBILE, PARAMETERS


def answer_in(own: OpenApiFragment, *, streams: bool) -> Schema:
    """JSON, text, and the formats of extensions."""
    kinds = ["text/plain", *(["text/event-stream"] if streams else [])]
    if SUBTITLES in own.served.extensions:
        kinds += ["application/x-subrip", "text/vtt"]
    text = {kind: {"schema": {"type": "string"}} for kind in kinds}
    return {"content": {**own.answers(Transcription)["content"], **text}}


def describe(served: Served) -> OpenApiFragment:
    own = OpenApiFragment(served)
    given = answer_in(own, streams=TRANSCRIPT_STREAMING in served.extensions)
    own.post("/v1/audio/transcriptions", "createTranscription", "Speech to text", own.takes(PARAMETERS), given)
    form, given = OpenApiFragment(served.contract).takes(MOBILE), own.answers(MobileTranscription)
    own.post("/api/v1/audio/transcribe", "transcribe", "Speech to text, for mobile apps", form, given)
    return own
