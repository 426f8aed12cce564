"""The OpenAPI description of translations."""

from frontend.catalogue.models import Served
from frontend.extensions.translations.parameters import PARAMETERS
from frontend.http.schemas import OpenApiFragment
from frontend.operations.transcription.openapi import answer_in


def describe(served: Served) -> OpenApiFragment:
    own = OpenApiFragment(served)
    answer = answer_in(own)
    own.post("/v1/audio/translations", "createTranslation", "Speech to English text", own.takes(PARAMETERS), answer)
    return own
