"""GET /openapi.json: an OpenAPI 3.1 document, assembled from a fragment of each operation."""

import copy
import functools
import operator
from typing import Annotated, Any, TypedDict

from aiohttp import web

from frontend.app_keys import SETTINGS
from frontend.catalogue.endpoints import API_KEY, CORE, MOBILE_TOKEN, Paths
from frontend.catalogue.models import CHAT, EMBEDDINGS, RERANK, SPEECH, TRANSCRIPTIONS, Served
from frontend.catalogue.version import VERSION
from frontend.config.settings import Settings
from frontend.errors import (
    ApiError,
    BadGateway,
    InsufficientQuota,
    Internal,
    InvalidRequest,
    MethodNotAllowed,
    NotFound,
    RateLimited,
    TooLarge,
    Unauthorized,
    UnsupportedMedia,
    UploadTimeout,
)
from frontend.http.rendering import JSON, render_json
from frontend.http.schemas import OpenApiFragment
from frontend.operations.embeddings import openapi as embeddings
from frontend.operations.rerank import openapi as rerank
from frontend.operations.speech import openapi as speech
from frontend.operations.status.models import Model, ModelList
from frontend.operations.transcription import openapi as transcription
from frontend.pages.fixed import Fixed, answer_once
from frontend.parameters.kinds import one_of
from frontend.rings import rings_of

_ALWAYS: tuple[type[ApiError], ...] = (InvalidRequest, Unauthorized, Internal, BadGateway)
_WITH_BODY: tuple[type[ApiError], ...] = (UploadTimeout, TooLarge, UnsupportedMedia, RateLimited)
MEANINGS: dict[type[ApiError], str] = {
    InvalidRequest: "A parameter is wrong, missing or unknown; `param` names it.",
    Unauthorized: "The key or token is missing, invalid, expired or revoked.",
    NotFound: "No model or path has this name.",
    MethodNotAllowed: "The path does not support this method.",
    UploadTimeout: "The body arrived too slowly.",
    TooLarge: "The file, the text or the body is too large.",
    UnsupportedMedia: "The audio format is not accepted, or the body is compressed.",
    RateLimited: "Too many requests per minute.",
    Internal: "An unexpected error; the log has it under the request id.",
    BadGateway: "A part that the request needs is away, late or overloaded.",
}
# In the document's order.
_FRAGMENTS = {
    TRANSCRIPTIONS: transcription.describe,
    SPEECH: speech.describe,
    EMBEDDINGS: embeddings.describe,
    RERANK: rerank.describe,
}
_INTEGER = {"schema": {"type": "integer"}}
_HEADERS: dict[str, Any] = {
    "X-Request-Id": {"schema": {"type": "string"}, "description": "The caller's own, if it is well formed."},
    "X-RateLimit-Limit": {**_INTEGER, "description": "The closest limit, in requests per minute."},
    "X-RateLimit-Remaining": {**_INTEGER, "description": "Requests left."},
    "X-RateLimit-Reset": {
        **_INTEGER,
        "description": "Seconds until the window is empty; with none left, until one passes.",
    },
    "Retry-After": {**_INTEGER, "description": "Seconds to wait."},
    "X-Should-Retry": {"schema": one_of(["false"]), "description": "Only a person can change what was refused."},
}
_TYPES = sorted({kind.type for kind in MEANINGS} | {InsufficientQuota.type})


class _Fault(TypedDict):
    message: str
    type: Annotated[str, {"enum": _TYPES}]
    param: str | None
    code: str | None


class Error(TypedDict):
    error: _Fault


_NAME = {"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}
_SECURITY = {
    API_KEY: {"type": "http", "scheme": "bearer", "description": "An API key, created with: quartet keys create"},
    MOBILE_TOKEN: {"type": "http", "scheme": "bearer", "bearerFormat": "JWT", "description": "A mobile app's token."},
}


def _models(served: Served) -> OpenApiFragment:
    own, name = OpenApiFragment(served), _NAME | {"example": next(iter(served.model_names()), "")}
    own.get("/v1/models", "listModels", "List the models", own.answers(ModelList))
    own.get("/v1/models/{name}", "retrieveModel", "Show one model", own.answers(Model), parameters=[name])
    return own


def _refs(names: list[str]) -> dict[str, Any]:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def _complete(paths: Paths, path: str, operation: dict[str, Any]) -> None:
    """Add the security, errors and headers that all operations share."""
    auth = paths.auth_of(path)
    operation["security"] = [{auth: []}]
    operation["tags"] = ["mobile" if auth == MOBILE_TOKEN else "developer"]
    limited = (RateLimited,) if paths.limit_of(path) else ()
    kinds = [*_ALWAYS, *(_WITH_BODY if "requestBody" in operation else limited)]
    if "{" in path or paths.operation_of(path) == CHAT:
        kinds.append(NotFound)
    headers = ["X-Request-Id"]
    if paths.limit_of(path):
        headers += ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"]
    responses = operation["responses"]
    for answer in list(responses.values()):
        answer.update(description="The answer.", headers=_refs(headers))
    for kind in sorted(kinds, key=lambda kind: kind.status):
        responses[str(kind.status)] = {"$ref": f"#/components/responses/{kind.__name__}"}


def _refusal(own: OpenApiFragment, kind: type[ApiError]) -> dict[str, Any]:
    headers = ["X-Request-Id", *(["Retry-After", "X-Should-Retry"] if kind in (RateLimited, BadGateway) else [])]
    return {"description": MEANINGS[kind], "headers": _refs(headers), **own.answers(Error)}


def document(settings: Settings) -> dict[str, Any]:
    """The document for the served operations."""
    fragments = [describe(settings.served) for name, describe in _FRAGMENTS.items() if name in settings.operations]
    rings = rings_of(settings)
    fragments += [ring.describe(settings) for ring in rings]
    fragments.append(_models(settings.served))
    paths = copy.deepcopy({path: item for fragment in fragments for path, item in fragment.paths.items()})
    for path, content in (each for fragment in fragments for each in fragment.more.items() if each[0] in paths):
        for operation in paths[path].values():
            operation["responses"]["200"]["content"].update(content)
    known = functools.reduce(operator.or_, (ring.paths for ring in rings), CORE)
    for path, item in paths.items():
        for operation in item.values():
            _complete(known, path, operation)
    schemas = {name: schema for fragment in fragments for name, schema in fragment.schemas.items()}
    errors = OpenApiFragment(settings.served)
    responses = {kind.__name__: _refusal(errors, kind) for kind in MEANINGS}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Quartet",
            "version": VERSION,
            "description": "Speech to text, text to speech, embeddings and rerank for OpenAI's clients.",
        },
        "servers": [{"url": "/", "description": "The server of this document."}],
        "paths": paths,
        "components": {
            "schemas": schemas | errors.schemas,
            "responses": responses,
            "headers": _HEADERS,
            "securitySchemes": _SECURITY,
        },
    }


async def openapi(request: web.Request) -> web.Response:
    return answer_once(request, "openapi", lambda: Fixed.of(render_json(document(request.app[SETTINGS])), JSON))


ROUTES = [web.get("/openapi.json", openapi)]
