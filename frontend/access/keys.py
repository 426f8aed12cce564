"""Who a developer's API key belongs to."""

import hmac
from dataclasses import dataclass

from frontend.errors import Unauthorized

_BEARER = "bearer "
_REFUSED = "the API key is missing, invalid or revoked"


@dataclass(frozen=True)
class Caller:
    """Who sends a request."""

    name: str


def bearer_token(header: str | None) -> str:
    """The token of an ``Authorization: Bearer`` header; 401 where there is none."""
    if header is None or not header.lower().startswith(_BEARER):
        raise Unauthorized(_REFUSED, headers={"WWW-Authenticate": "Bearer"})
    return header[len(_BEARER) :].strip()


class FixedKey:
    """One key from the settings. An empty one lets nobody in."""

    def __init__(self, key: str) -> None:
        self._key = key.encode()

    def identify(self, token: str) -> Caller:
        """The caller behind a key; compared in constant time."""
        if not self._key or not hmac.compare_digest(token.encode("utf-8", "surrogateescape"), self._key):
            raise Unauthorized(_REFUSED, headers={"WWW-Authenticate": "Bearer"})
        return Caller("demo")
