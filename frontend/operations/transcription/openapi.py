"""The OpenAPI description of transcription."""

from frontend.catalogue.models import Served
from frontend.http.schemas import OpenApiFragment
from frontend.operations.transcription.answers import MobileTranscription, Transcription
from frontend.parameters.kinds import Schema
from frontend.parameters.transcription import MOBILE, PARAMETERS

TEXT: Schema = {"schema": {"type": "string"}}


def answer_in(own: OpenApiFragment) -> Schema:
    """JSON and text."""
    return {"content": {**own.answers(Transcription)["content"], "text/plain": TEXT}}


def describe(served: Served) -> OpenApiFragment:
    own = OpenApiFragment(served)
    form, given = own.takes(PARAMETERS), answer_in(own)
    own.post("/v1/audio/transcriptions", "createTranscription", "Speech to text", form, given)
    form, given = OpenApiFragment(served.contract).takes(MOBILE), own.answers(MobileTranscription)
    own.post("/api/v1/audio/transcribe", "transcribe", "Speech to text, for mobile apps", form, given)
    return own
