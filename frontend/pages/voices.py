"""GET /v1/audio/voices, where aliases are set: the list that apps which speak as OpenAI's clients do look for."""

from aiohttp import web

from frontend.app_keys import SETTINGS
from frontend.http.rendering import json_response
from frontend.operations.speech.protocol import render_names


async def voices(request: web.Request) -> web.Response:
    """Every voice name that the speech endpoint takes."""
    return json_response(render_names(request.app[SETTINGS].served))


ROUTES = [web.get("/v1/audio/voices", voices)]
