"""The public keys of mobile tokens: a JWKS from a file or an address, refreshed in the background."""

import asyncio
import codecs
import time
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import jwt
import orjson

from frontend.concurrency.background import Repeating
from frontend.config.reading import SettingsError
from frontend.observe.logs import log

ALGORITHMS = ("RS256", "ES256", "EdDSA")
_LARGEST = 64 * 1024  # bytes of a key set
_FETCH_SECONDS = 5.0
_FILE_SECONDS = 5.0
# The shortest time between two refreshes for tokens with an unknown key, which attackers can send too.
_COOLDOWN_SECONDS = 5.0
_LONGEST_STALE_SECONDS = 86_400.0


def is_address(source: str) -> bool:
    """Whether ``source`` is an address rather than a file. Raises ``SettingsError`` for http to another machine."""
    parts = urlsplit(source)
    if parts.scheme == "http" and parts.hostname not in ("127.0.0.1", "::1", "localhost"):
        raise SettingsError("QUARTET_JWT_JWKS: an address must begin with https://")
    return parts.scheme in ("http", "https")


def parse(data: bytes) -> dict[str, jwt.PyJWK]:
    """The public signature keys of a set by ``kid``. Raises ``ValueError`` if there are none.

    Other entries are left out and logged.
    """
    value = orjson.loads(data.removeprefix(codecs.BOM_UTF8))
    entries = value.get("keys") if isinstance(value, dict) else None
    if not isinstance(entries, list):
        raise ValueError("the set has no list of keys")
    keys: dict[str, jwt.PyJWK] = {}
    for index, entry in enumerate(entries):
        try:
            key, kid = jwt.PyJWK(entry), entry.get("kid", "")
            if key.algorithm_name not in ALGORITHMS or entry.get("use", "sig") != "sig" or "d" in entry:
                raise ValueError("it is no public key for signatures")
            if not isinstance(kid, str):
                raise TypeError("its kid is not a string")
            keys[kid] = key
        except Exception as error:
            # PyJWT and cryptography raise many types of errors for bad entries. PyJWT's quote the entry.
            reason = "" if isinstance(error, jwt.PyJWTError) else f": {error}"
            fields = {"entry": index, "details": f"{type(error).__name__}{reason}"}
            log.warning("an entry of the JWKS is left out", extra={"fields": fields})
    if not keys:
        raise ValueError("no key that can be used")
    return keys


class Jwks:
    """A key set, read every ``refresh`` seconds (a file every 5). After failures, the last good one lasts for a day."""

    def __init__(self, source: str, refresh: float) -> None:
        self._source = source
        self._remote = is_address(source)
        self._keys: dict[str, jwt.PyJWK] = {}
        self._read_at = self._tried_at = -_LONGEST_STALE_SECONDS
        self._trying = asyncio.Lock()
        self._refreshing = Repeating(refresh if self._remote else _FILE_SECONDS, self._refresh)

    async def start(self) -> None:
        """Read the set once, then repeatedly in the background."""
        await self._read()
        self._refreshing.start()

    async def close(self) -> None:
        await self._refreshing.close()

    async def find(self, kid: object) -> jwt.PyJWK | None:
        """The key with this id, or the only key if the token names none. An unknown id causes a refresh."""
        if key := self._lookup(kid):
            return key
        async with self._trying:
            if not self._lookup(kid) and time.monotonic() - self._tried_at > _COOLDOWN_SECONDS:
                await self._read()
        return self._lookup(kid)

    def _lookup(self, kid: object) -> jwt.PyJWK | None:
        if time.monotonic() - self._read_at > _LONGEST_STALE_SECONDS:
            return None
        if kid is None and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        return self._keys.get(kid) if isinstance(kid, str) else None

    async def _refresh(self) -> None:
        async with self._trying:
            await self._read()

    async def _read(self) -> None:
        self._tried_at = time.monotonic()
        try:
            self._keys = await self.load()
            self._read_at = self._tried_at
        except (OSError, ValueError, KeyError, TypeError, AttributeError, TimeoutError, aiohttp.ClientError) as error:
            log.error("the JWKS cannot be read", extra={"fields": {"details": f"{type(error).__name__}: {error}"}})

    async def load(self) -> dict[str, jwt.PyJWK]:
        """Read the source. Raises the errors of reading and parsing."""
        return parse(await self._fetch())

    async def _fetch(self) -> bytes:
        if not self._remote:
            return await asyncio.to_thread(Path(self._source).read_bytes)
        timeout = aiohttp.ClientTimeout(total=_FETCH_SECONDS)
        async with (
            aiohttp.ClientSession(timeout=timeout, raise_for_status=True) as session,
            session.get(self._source, allow_redirects=False) as response,
        ):
            data = b""
            async for chunk in response.content.iter_any():
                data += chunk
                if len(data) > _LARGEST:
                    raise ValueError("the key set is too large")
        return data
