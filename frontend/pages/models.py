"""GET /v1/models, /v1/models/{id} and /offer.json."""

import re
from collections.abc import Mapping
from typing import Any

from aiohttp import web

from frontend.app_keys import CHAT, EXPORTS, SETTINGS, SPEECH
from frontend.catalogue.exports import Export
from frontend.catalogue.extensions import CHAT_MODELS
from frontend.catalogue.models import Model, Served
from frontend.catalogue.prices import SIZES, to_chf
from frontend.config.settings import Settings
from frontend.errors import NotFound
from frontend.http.rendering import JSON, json_response, render_json
from frontend.operations.embeddings.protocol import MOST_INPUTS
from frontend.operations.rerank.protocol import MOST_DOCUMENTS
from frontend.operations.speech.protocol import LONGEST_INPUT, render_voices
from frontend.operations.transcription.languages import LANGUAGES
from frontend.operations.transcription.protocol import LARGEST_FILE
from frontend.pages.fixed import Fixed, answer_once

# OpenAI's clients expect a creation time. This one is the day on which the interface was fixed.
_CREATED = 1_787_011_200
# Folders in the error messages of libraries. The page is public.
_FOLDERS = re.compile(r"(?<![\w.])/(?:[^\s/:'\"]+/)+")


def _entry(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": _CREATED, "owned_by": "quartet"}


def _on(served: Served) -> dict[str, list[str]]:
    """The extensions that are on, if there are any."""
    return {"extensions": sorted(served.extensions)} if served.extensions else {}


async def _of_chat(request: web.Request) -> Mapping[str, Any]:
    """The entries of the chat server's models, if the extension is on."""
    app = request.app
    if CHAT_MODELS not in app[SETTINGS].served.extensions or CHAT not in app:
        return {}
    return await app[CHAT].models.entries()


async def list_models(request: web.Request) -> web.Response:
    """Every model name that an endpoint accepts."""
    served = request.app[SETTINGS].served
    own = {name: _entry(name) for name in served.model_names()}
    entries = list({**own, **(await _of_chat(request)), **own}.values())
    return json_response({"object": "list", "data": entries, **_on(served)})


async def get_model(request: web.Request) -> web.Response:
    name = request.match_info["name"]
    if name in request.app[SETTINGS].served.model_names():
        return json_response(_entry(name))
    if (entry := (await _of_chat(request)).get(name)) is None:
        raise NotFound(f"unknown model: {name[:64]}", param="model", code="model_not_found")
    return json_response(entry)


def _export(export: Export) -> dict[str, Any]:
    return {"way": export.way, "skipped": [_FOLDERS.sub("", each) for each in export.skipped]}


def _model(settings: Settings, model: Model) -> dict[str, Any]:
    price = settings.prices[model.id]
    return {
        "id": model.id,
        "operation": model.operation,
        "triton_models": settings.served.triton_models_of(model),
        "price": {"chf": to_chf(price.micro_chf), "unit": price.unit, "size": SIZES[price.unit]},
    }


async def offer(request: web.Request) -> web.Response:
    """The models, voices and prices of this deployment, for its pages.

    ``size`` is the number of milliseconds, characters or tokens of a price's unit. ``exports`` has Triton models.
    """
    return answer_once(request, "offer", lambda: Fixed.of(render_json(_offer(request.app)), JSON))


def _offer(app: web.Application) -> dict[str, Any]:
    settings = app[SETTINGS]
    return {
        "models": [_model(settings, model) for model in settings.served.models],
        "voices": render_voices(settings.served)["voices"],
        "exports": {model: _export(export) for model, export in app[EXPORTS].items()},
        "accents": app[SPEECH].accents,
        "aliases": {"models": settings.aliases.models, "voices": settings.aliases.voices},
        "languages": sorted(LANGUAGES),
        "largest_file": LARGEST_FILE,
        "longest_input": LONGEST_INPUT,
        "most_inputs": MOST_INPUTS,
        "most_documents": MOST_DOCUMENTS,
        **_on(settings.served),
    }


ROUTES = [
    web.get("/v1/models", list_models),
    web.get("/v1/models/{name:.+}", get_model),
    web.get("/offer.json", offer),
]
