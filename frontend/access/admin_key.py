"""The admin key. It comes from the settings and gives access to nothing but the admin API."""

import hmac

from frontend.access.caller import Caller, refuse

ADMIN = Caller("admin", "admin")


class AdminKey:
    def __init__(self, key: str) -> None:
        self._key = key.encode()

    async def identify(self, token: str) -> Caller:
        """Raises ``Unauthorized`` (401) for any other key. The comparison takes constant time."""
        if not token or not hmac.compare_digest(token.encode("utf-8", "surrogatepass"), self._key):
            raise refuse("the admin key is missing or invalid")
        return ADMIN
