"""The API's paths: operation, rate limit and authentication of each."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from frontend.catalogue.models import CHAT, EMBEDDINGS, RERANK, SPEECH, TRANSCRIPTIONS

# Kinds of authentication, by their names in the OpenAPI document.
API_KEY, MOBILE_TOKEN, ADMIN_KEY = "apiKey", "mobileToken", "adminKey"


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
_BY_PATH: Mapping[str, Endpoint] = {endpoint.path: endpoint for endpoint in ENDPOINTS}
# Requests per minute, by limit.
LIMITS: Mapping[str, int] = {endpoint.limit: endpoint.requests for endpoint in ENDPOINTS}


@dataclass(frozen=True)
class Paths:
    """What the middlewares ask about paths: those of the core, of a ring, or of both."""

    # The endpoint whose operation and rate limit a path has.
    like: Mapping[str, str] = field(default_factory=dict)
    # The kind of authentication by prefix. All other paths are open.
    auth: Mapping[str, str] = field(default_factory=dict)
    # The query parameters by route. All others have none.
    queries: Mapping[str, Collection[str]] = field(default_factory=dict)
    # Prefixes that the admin port alone answers, if there is one, and those that both ports answer.
    private: tuple[str, ...] = ()
    on_both_ports: tuple[str, ...] = ()

    def __or__(self, others: "Paths") -> "Paths":
        return Paths(
            {**self.like, **others.like},
            {**self.auth, **others.auth},
            {**self.queries, **others.queries},
            self.private + others.private,
            self.on_both_ports + others.on_both_ports,
        )

    def auth_of(self, path: str) -> str | None:
        """The authentication of a path; None if it is open."""
        return next((auth for prefix, auth in self.auth.items() if path.startswith(prefix)), None)

    def operation_of(self, path: str) -> str:
        """The operation of a path; ``other`` for pages and unknown paths."""
        return "other" if (endpoint := self._endpoint(path)) is None else endpoint.operation

    def limit_of(self, path: str) -> str | None:
        """The rate limit of a path; None if it has none."""
        return None if (endpoint := self._endpoint(path)) is None else endpoint.limit

    def _endpoint(self, path: str) -> Endpoint | None:
        return _BY_PATH.get(self.like.get(path, path))


CORE = Paths(
    auth={"/v1/": API_KEY, "/api/v1/": MOBILE_TOKEN},
    private=("/health/", "/metrics"),
    on_both_ports=("/health/live",),
)
