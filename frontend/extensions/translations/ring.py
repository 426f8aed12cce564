"""POST /v1/audio/translations: transcription into English text."""

from contextlib import AsyncExitStack

from aiohttp import web

from frontend.app_keys import SETTINGS, TRANSCRIPTION
from frontend.catalogue.endpoints import Paths
from frontend.extensions.translations import openapi
from frontend.extensions.translations.parameters import PARAMETERS, parse
from frontend.http.form import Shape
from frontend.operations.transcription.abilities import check_translation
from frontend.operations.transcription.handler import answer
from frontend.operations.transcription.rendering import render_openai
from frontend.rings import Ring

_PATH = "/v1/audio/translations"


async def translate(request: web.Request) -> web.StreamResponse:
    shape = Shape.of(PARAMETERS, request.app[SETTINGS].served)
    return await answer(request, shape, parse, render_openai)


async def _start(app: web.Application, closing: AsyncExitStack) -> None:
    settings = app[SETTINGS]
    models = settings.served.translating
    for model in models:
        check_translation(settings.model_repository, model)
    app[TRANSCRIPTION].translate_with(models)


TRANSLATIONS = Ring(
    is_on=lambda settings: bool(settings.served.translators()),
    routes=lambda settings: [web.post(_PATH, translate)],
    paths=Paths(like={_PATH: "/v1/audio/transcriptions"}),
    start=_start,
    describe=lambda settings: openapi.describe(settings.served),
)
