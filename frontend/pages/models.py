"""GET /v1/models and /v1/models/{id}."""

from typing import Any

from aiohttp import web

from frontend.app_keys import SETTINGS
from frontend.errors import NotFound
from frontend.http.rendering import json_response

# OpenAI's clients expect a creation time; ours is the day the interface was fixed.
_CREATED = 1_787_011_200


def _entry(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": _CREATED, "owned_by": "quartet"}


async def list_models(request: web.Request) -> web.Response:
    """Every model name that an endpoint accepts."""
    return json_response(
        {"object": "list", "data": [_entry(name) for name in request.app[SETTINGS].served.model_names()]}
    )


async def get_model(request: web.Request) -> web.Response:
    name = request.match_info["name"]
    if name not in request.app[SETTINGS].served.model_names():
        raise NotFound(f"unknown model: {name[:64]}", param="model", code="model_not_found")
    return json_response(_entry(name))


ROUTES = [web.get("/v1/models", list_models), web.get("/v1/models/{name:.+}", get_model)]
