"""GET /offer.json: the models, voices and prices of this deployment, for its pages."""

import re
from typing import Any

from aiohttp import web

from frontend.app_keys import EXPORTS, SETTINGS, SPEECH
from frontend.catalogue.exports import Export
from frontend.catalogue.languages import LANGUAGES
from frontend.catalogue.models import Model
from frontend.catalogue.prices import to_chf
from frontend.config.settings import Settings
from frontend.http.rendering import JSON, render_json
from frontend.operations.speech.protocol import render_voices
from frontend.operations.status.models import extensions_on
from frontend.pages.fixed import Fixed, answer_once
from frontend.parameters.embeddings import MOST_INPUTS
from frontend.parameters.speech import LONGEST_INPUT
from frontend.parameters.transcription import LARGEST_FILE

# Folders in the error messages of libraries. The page is public.
_FOLDERS = re.compile(r"(?<![\w.])/(?:[^\s/:'\"]+/)+")


def _export(export: Export) -> dict[str, Any]:
    return {"way": export.way, "skipped": [_FOLDERS.sub("", each) for each in export.skipped]}


def _model(settings: Settings, model: Model) -> dict[str, Any]:
    price = settings.prices[model.id]
    return {
        "id": model.id,
        "operation": model.operation,
        "about": model.about,
        "triton_models": settings.served.triton_models_of(model),
        "price": {"chf": to_chf(price.micro_chf), "unit": price.unit},
    }


async def offer(request: web.Request) -> web.Response:
    """The models, voices and prices of this deployment, for its pages. ``exports`` has Triton models."""
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
        # Those of the contract, also with large batches: a browser would take half a minute to show thousands of lines.
        "most_inputs": MOST_INPUTS,
        "most_documents": MOST_INPUTS,
        **extensions_on(settings.served),
    }


ROUTES = [web.get("/offer.json", offer)]
