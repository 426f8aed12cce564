"""The one key that may administer; it is set, not stored, and opens nothing else."""

import hmac

from frontend.access.caller import Caller, refuse

ADMIN = Caller("admin", "admin")


class AdminKey:
    """Knows the administrator."""

    def __init__(self, key: str) -> None:
        self._key = key.encode()

    async def identify(self, token: str) -> Caller:
        """401 for any other key; how long the answer takes tells nothing of how close it was."""
        if not token or not hmac.compare_digest(token.encode("utf-8", "surrogatepass"), self._key):
            raise refuse("the admin key is missing or invalid")
        return ADMIN
