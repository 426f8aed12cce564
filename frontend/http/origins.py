"""Which answers pages of other origins may read in a browser, where the settings name some: CORS."""

from collections.abc import Collection

from aiohttp import hdrs

_ANY = "*"
# The administration and the dashboard stay closed to all other pages.
_CALLED = ("/v1/", "/api/v1/")
_READABLE = "X-Request-Id, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After"


def is_open(origins: Collection[str], path: str) -> bool:
    """Whether pages of some other origins may call a path."""
    return bool(origins) and path.startswith(_CALLED)


def allowed(origins: Collection[str], origin: str) -> dict[str, str]:
    """What tells a browser that pages of an origin may; nothing where they may not."""
    if origin and _ANY in origins:
        return {hdrs.ACCESS_CONTROL_ALLOW_ORIGIN: _ANY}
    return {hdrs.ACCESS_CONTROL_ALLOW_ORIGIN: origin, hdrs.VARY: hdrs.ORIGIN} if origin in origins else {}


def readable(origins: Collection[str], path: str, origin: str) -> dict[str, str]:
    """The headers of an answer that say which pages may read what of it."""
    if not is_open(origins, path):
        return {}
    if told := allowed(origins, origin):
        return {**told, hdrs.ACCESS_CONTROL_EXPOSE_HEADERS: _READABLE}
    # A cache must not give one page what was answered to another.
    return {} if _ANY in origins else {hdrs.VARY: hdrs.ORIGIN}
