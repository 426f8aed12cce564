"""The OpenAPI description of translations."""

from frontend.catalogue.models import Served
from frontend.http.schemas import OpenApiFragment, ignored, one_of, post, request_object
from frontend.operations.transcription import protocol
from frontend.operations.transcription.openapi import FILE, answer_in, multipart, options_of


def describe(served: Served) -> OpenApiFragment:
    models = list(served.translators())
    form = request_object(
        {
            "file": FILE,
            "model": one_of(models, default=models[0]),
            **options_of(served),
            **ignored(protocol.ignored_in_translations(served)),
        },
        "file",
    )
    answer = answer_in(served, streams=False)
    path = post("createTranslation", "Speech to English text", multipart(form), answer)
    return OpenApiFragment({"/v1/audio/translations": path})
