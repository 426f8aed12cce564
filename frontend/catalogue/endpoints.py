"""The API's paths: operation, rate limit and authentication of each."""

from collections.abc import Mapping
from dataclasses import dataclass

from frontend.catalogue.models import CHAT, EMBEDDINGS, RERANK, SPEECH, TRANSCRIPTIONS

# Kinds of authentication, by their names in the OpenAPI document.
API_KEY, MOBILE_TOKEN, ADMIN_KEY = "apiKey", "mobileToken", "adminKey"
# Authentication by path prefix. All other paths are open.
AUTH: Mapping[str, str] = {
    "/v1/": API_KEY,
    "/v2/": API_KEY,
    "/rerank": API_KEY,
    "/embed": API_KEY,
    "/similarity": API_KEY,
    "/api/v1/": MOBILE_TOKEN,
    "/admin/v1/": ADMIN_KEY,
    "/dashboard/data/": API_KEY,
}


@dataclass(frozen=True)
class Endpoint:
    """A path with its own rate limit: ``requests`` per minute by default."""

    path: str
    operation: str
    limit: str
    requests: int


ENDPOINTS = (
    Endpoint("/v1/chat/completions", CHAT, "chat", 60),
    Endpoint("/v1/responses", CHAT, "responses", 60),
    Endpoint("/v1/audio/transcriptions", TRANSCRIPTIONS, "transcriptions", 30),
    Endpoint("/v1/audio/speech", SPEECH, "speech", 120),
    Endpoint("/v1/embeddings", EMBEDDINGS, "embeddings", 120),
    Endpoint("/v1/rerank", RERANK, "rerank", 120),
    Endpoint("/api/v1/audio/transcribe", TRANSCRIPTIONS, "mobile_transcribe", 30),
    Endpoint("/api/v1/audio/synthesize", SPEECH, "mobile_synthesize", 60),
)
# Live speech. A session counts as one transcription when it opens.
LIVE = "/v1/realtime"
# Paths that exist only with an extension. Each has the operation and the rate limit of an endpoint.
EXTENDED: Mapping[str, str] = {
    LIVE: "/v1/audio/transcriptions",
    "/v1/audio/translations": "/v1/audio/transcriptions",
    "/v2/rerank": "/v1/rerank",
    "/rerank": "/v1/rerank",
    "/embed": "/v1/embeddings",
    "/similarity": "/v1/embeddings",
}
_OWN: Mapping[str, Endpoint] = {endpoint.path: endpoint for endpoint in ENDPOINTS}
_BY_PATH: Mapping[str, Endpoint] = {**_OWN, **{path: _OWN[own] for path, own in EXTENDED.items()}}
# Requests per minute, by limit.
LIMITS: Mapping[str, int] = {endpoint.limit: endpoint.requests for endpoint in ENDPOINTS}
LIMIT_OF_PATH: Mapping[str, str] = {path: endpoint.limit for path, endpoint in _BY_PATH.items()}


def auth_of(path: str) -> str | None:
    """The authentication of a path; None if it is open."""
    return next((auth for prefix, auth in AUTH.items() if path.startswith(prefix)), None)


def operation_of(path: str) -> str:
    """The operation of a path; ``other`` for pages and unknown paths."""
    return _BY_PATH[path].operation if path in _BY_PATH else "other"
