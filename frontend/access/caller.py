"""The caller of a request, and its ``Authorization`` header."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from frontend.errors import Unauthorized

_BEARER = "bearer "


@dataclass(frozen=True)
class Caller:
    """A key, or a user of a mobile app. Limits and usage are counted by ``id``.

    ``limits`` are requests per minute by name of the limit, if they differ from the tier's. ``org_limit`` is shared
    by all keys of the organisation. ``prepaid`` is whether the organisation has a wallet, which pays for the key.
    """

    id: str
    name: str
    tier: str = "free"
    org: str | None = None
    org_limit: int | None = None
    limits: Mapping[str, int] = field(default_factory=dict)
    expires_at: int | None = None
    prepaid: bool = False

    @property
    def payer(self) -> str | None:
        """The organisation whose wallet pays."""
        return self.org if self.prepaid else None


class Identifies(Protocol):
    """Finds the caller of a token. Raises ``Unauthorized`` (401) for an empty or unknown one."""

    async def identify(self, token: str) -> Caller: ...


def refuse(message: str) -> Unauthorized:
    """The 401 for a credential. Its message does not depend on the fault, so that it helps no attacker."""
    return Unauthorized(message, headers={"WWW-Authenticate": "Bearer"})


def bearer_token(headers: list[str]) -> str:
    """The token of the single ``Authorization: Bearer`` header; empty if there is not exactly one."""
    if len(headers) != 1 or not headers[0].lower().startswith(_BEARER):
        return ""
    return headers[0][len(_BEARER) :].strip()
