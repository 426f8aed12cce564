"""The paths that work for callers: what each does, the limit that it counts under, and who may call it."""

from collections.abc import Mapping
from dataclasses import dataclass

from frontend.catalogue.models import CHAT, EMBEDDINGS, RERANK, SPEECH, TRANSCRIPTIONS

# Who may call, by the names of the OpenAPI document.
API_KEY, MOBILE_TOKEN, ADMIN_KEY = "apiKey", "mobileToken", "adminKey"
# Who may call what begins like this; all else is open.
AUTH: Mapping[str, str] = {
    "/v1/": API_KEY,
    "/api/v1/": MOBILE_TOKEN,
    "/admin/v1/": ADMIN_KEY,
    "/dashboard/data/": API_KEY,
}


@dataclass(frozen=True)
class Endpoint:
    """A path with a limit of its own, of ``requests`` a minute where the settings say nothing else."""

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
# Requests a minute, by the name of the limit.
LIMITS: Mapping[str, int] = {endpoint.limit: endpoint.requests for endpoint in ENDPOINTS}
LIMIT_OF_PATH: Mapping[str, str] = {endpoint.path: endpoint.limit for endpoint in ENDPOINTS}
_OPERATIONS: Mapping[str, str] = {endpoint.path: endpoint.operation for endpoint in ENDPOINTS}


def auth_of(path: str) -> str | None:
    """Who may call a path; None where it is open."""
    return next((auth for prefix, auth in AUTH.items() if path.startswith(prefix)), None)


def operation_of(path: str) -> str:
    """What a path does for callers; ``other`` for pages and paths that there are not."""
    return _OPERATIONS.get(path, "other")
