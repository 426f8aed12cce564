"""GET /offer.json: what this deployment offers, as its pages show it: models, voices, languages, prices and bounds."""

import re
from typing import Any

from aiohttp import web

from frontend.app_keys import EXPORTS, SETTINGS, SPEECH
from frontend.catalogue.exports import Export
from frontend.catalogue.models import Model
from frontend.catalogue.prices import SIZES, to_chf
from frontend.config.settings import Settings
from frontend.http.rendering import json_response
from frontend.operations.embeddings.protocol import MOST_INPUTS
from frontend.operations.rerank.protocol import MOST_DOCUMENTS
from frontend.operations.speech.protocol import LONGEST_INPUT, render_voices
from frontend.operations.transcription.languages import LANGUAGES
from frontend.operations.transcription.protocol import LARGEST_FILE

# Folders of this machine, which libraries name in their errors: the page is public.
_FOLDERS = re.compile(r"(?<![\w.])/(?:[^\s/:'\"]+/)+")


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
    """``size`` is how many milliseconds, characters or tokens the price is for; ``exports`` are by Triton model."""
    settings = request.app[SETTINGS]
    return json_response(
        {
            "models": [_model(settings, model) for model in settings.served.models],
            "voices": render_voices(settings.served)["voices"],
            "exports": {model: _export(its) for model, its in request.app[EXPORTS].items()},
            "robots": request.app[SPEECH].robots,
            "aliases": {"models": settings.aliases.models, "voices": settings.aliases.voices},
            "languages": sorted(LANGUAGES),
            "largest_file": LARGEST_FILE,
            "longest_input": LONGEST_INPUT,
            "most_inputs": MOST_INPUTS,
            "most_documents": MOST_DOCUMENTS,
        }
    )


ROUTES = [web.get("/offer.json", offer)]
