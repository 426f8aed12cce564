"""CORS: the answers that pages of other origins may read."""

from collections.abc import Collection

from aiohttp import hdrs

_ANY = "*"
# Paths that pages of other origins may call. The administration and the dashboard are excluded.
_CALLED = ("/v1/", "/api/v1/")
_READABLE = "X-Request-Id, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After, X-Should-Retry"


def is_open(origins: Collection[str], path: str, *, exists: bool = True) -> bool:
    """Whether pages of any other origin may call a path. They may read that there is none."""
    return bool(origins) and (path.startswith(_CALLED) or not exists)


def allowed(origins: Collection[str], origin: str) -> dict[str, str]:
    """The headers that allow ``origin``; empty if it is not allowed."""
    if origin and _ANY in origins:
        return {hdrs.ACCESS_CONTROL_ALLOW_ORIGIN: _ANY}
    return {hdrs.ACCESS_CONTROL_ALLOW_ORIGIN: origin, hdrs.VARY: hdrs.ORIGIN} if origin in origins else {}


def readable(origins: Collection[str], path: str, origin: str, *, exists: bool = True) -> dict[str, str]:
    """The headers that let a page read an answer."""
    if not is_open(origins, path, exists=exists):
        return {}
    if headers := allowed(origins, origin):
        return {**headers, hdrs.ACCESS_CONTROL_EXPOSE_HEADERS: _READABLE}
    # A cache must not serve one page's answer to another.
    return {} if _ANY in origins else {hdrs.VARY: hdrs.ORIGIN}
