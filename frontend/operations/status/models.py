"""GET /v1/models and /v1/models/{id}."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from aiohttp import web

from frontend.app_keys import LISTED_MODELS, SETTINGS
from frontend.catalogue.extensions import CHAT_MODELS
from frontend.catalogue.models import MODELS, Served
from frontend.errors import NotFound
from frontend.http.rendering import json_response
from frontend.http.schemas import When

# OpenAI's clients expect a creation time. This one is the day on which the interface was fixed.
_CREATED = 1_787_011_200


def _ids(served: Served) -> dict[str, Any]:
    return {} if CHAT_MODELS in served.extensions else {"enum": list(served.model_names())}


# The contract names the operation of its own models.
_OF_ADDED = When(lambda served: any(model.id not in MODELS for model in served.models))


class Model(TypedDict):
    id: Annotated[str, _ids]
    object: Literal["model"]
    created: int
    owned_by: str
    operation: NotRequired[Annotated[str, _OF_ADDED]]
    # Of a Whisper that does not know all.
    languages: NotRequired[Annotated[list[str], _OF_ADDED]]


class ModelList(TypedDict):
    object: Literal["list"]
    data: list[Model]
    extensions: Annotated[
        list[str],
        When(lambda served: bool(served.extensions)),
        lambda served: {"items": {"type": "string", "enum": sorted(served.extensions)}},
    ]


def _entry(name: str, served: Served) -> Model:
    entry: Model = {"id": name, "object": "model", "created": _CREATED, "owned_by": "quartet"}
    if (meant := served.model_names()[name]) not in MODELS:
        added = next(model for model in served.models if model.id == meant)
        entry["operation"] = added.operation
        if added.languages:
            entry["languages"] = list(added.languages)
    return entry


def extensions_on(served: Served) -> dict[str, list[str]]:
    """The extensions that are on, if there are any."""
    return {"extensions": sorted(served.extensions)} if served.extensions else {}


async def _others(request: web.Request) -> Mapping[str, Any]:
    """The entries of models that are served elsewhere, by id."""
    return {name: entry for entries in request.app[LISTED_MODELS] for name, entry in (await entries()).items()}


async def list_models(request: web.Request) -> web.Response:
    """Every model name that an endpoint accepts."""
    served = request.app[SETTINGS].served
    own = {name: _entry(name, served) for name in served.model_names()}
    entries = list({**own, **(await _others(request)), **own}.values())
    return json_response({"object": "list", "data": entries, **extensions_on(served)})


async def get_model(request: web.Request) -> web.Response:
    name, served = request.match_info["name"], request.app[SETTINGS].served
    if name in served.model_names():
        return json_response(_entry(name, served))
    if (entry := (await _others(request)).get(name)) is None:
        raise NotFound(f"unknown model: {name[:64]}", param="model", code="model_not_found")
    return json_response(entry)


ROUTES = [web.get("/v1/models", list_models), web.get("/v1/models/{name:.+}", get_model)]
