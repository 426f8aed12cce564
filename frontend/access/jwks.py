"""The public keys that mobile tokens are signed with: a JWKS from a file or an address, kept fresh beside requests."""

import asyncio
import codecs
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import jwt
import orjson

from frontend.config.reading import SettingsError
from frontend.observe.logs import log
from frontend.processes.background import Repeating

ALGORITHMS = ("RS256", "ES256", "EdDSA")
_LARGEST = 64 * 1024
_FETCH_SECONDS = 5.0
_FILE_SECONDS = 5.0
# A token signed with a key not seen yet asks for the set again; tokens that mean harm can do so this often.
_COOLDOWN_SECONDS = 5.0
_LONGEST_STALE_SECONDS = 86_400.0


def is_address(source: str) -> bool:
    """Whether ``source`` is an address rather than a file; plain http is for this machine alone."""
    parts = urlsplit(source)
    if parts.scheme == "http" and parts.hostname not in ("127.0.0.1", "::1", "localhost"):
        raise SettingsError("QUARTET_JWT_JWKS: an address must begin with https://")
    return parts.scheme in ("http", "https")


def parse(data: bytes) -> dict[str, jwt.PyJWK]:
    """The keys of a set by their ``kid`` that are public and fit for signatures; ``ValueError`` where there is none.

    One bad entry, or one of a kind that is not known here, does not take the others away; the log tells of it.
    """
    value = orjson.loads(data.removeprefix(codecs.BOM_UTF8))
    entries = value.get("keys") if isinstance(value, dict) else None
    if not isinstance(entries, list):
        raise ValueError("the set has no list of keys")
    keys: dict[str, jwt.PyJWK] = {}
    for place, entry in enumerate(entries):
        try:
            kid, key = _key(entry)
            keys[kid] = key
        except Exception as error:
            # PyJWT and cryptography raise many kinds for entries that somebody else has written.
            fields = {"place": place, "details": f"{type(error).__name__}: {error}"}
            log.warning("an entry of the JWKS is left out", extra={"fields": fields})
    if not keys:
        raise ValueError("no key that can be used")
    return keys


def _key(entry: Any) -> tuple[str, jwt.PyJWK]:
    if not isinstance(entry, dict):
        raise TypeError("it is not an object")
    if entry.get("kty") not in ("RSA", "EC", "OKP") or entry.get("use", "sig") != "sig" or "d" in entry:
        raise ValueError("it is no public key for signatures")
    kid = entry.get("kid", "")
    if not isinstance(kid, str):
        raise TypeError("its kid is not a string")
    key = jwt.PyJWK(entry)
    if key.algorithm_name not in ALGORITHMS:
        raise ValueError(f"its algorithm is none of {', '.join(ALGORITHMS)}")
    return kid, key


class Jwks:
    """A key set that is read every ``refresh`` seconds (a file every 5); the last good one holds for a day."""

    def __init__(self, source: str, refresh: float) -> None:
        self._source = source
        self._remote = is_address(source)
        self._keys: dict[str, jwt.PyJWK] = {}
        self._read_at = self._tried_at = -_LONGEST_STALE_SECONDS
        self._trying = asyncio.Lock()
        self._refreshing = Repeating(refresh if self._remote else _FILE_SECONDS, self._read_alone)

    async def start(self) -> None:
        """Read the set once, then again in the background; a source that is away is tried again."""
        await self._read()
        self._refreshing.start()

    async def close(self) -> None:
        await self._refreshing.close()

    async def find(self, kid: object) -> jwt.PyJWK | None:
        """The key of that name; one without a name where the set holds only one. An unknown name reads again."""
        if found := self._lookup(kid):
            return found
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

    async def _read_alone(self) -> None:
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
        """Read the source and answer its keys; raises what reading and parsing do."""
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
