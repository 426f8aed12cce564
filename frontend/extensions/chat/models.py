"""The models that the upstream lists."""

import asyncio
import math
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import aiohttp
import orjson

from frontend.observe.logs import log

# For how long a list holds, and for how long a failure does.
_KEPT_SECONDS, _RETRY_SECONDS = 60.0, 10.0
_ANSWER_SECONDS = 2.0
_LARGEST_LIST = 1024 * 1024  # bytes
MOST_MODELS = 1000
_LONGEST_NAME = 256  # characters


class UpstreamModels:
    """The list of one upstream. However many callers ask, it is fetched at most once a minute."""

    def __init__(self, session: aiohttp.ClientSession, address: str) -> None:
        self._session, self._address = session, address
        self._entries: Mapping[str, dict[str, Any]] = {}
        self._until = -math.inf
        self._asking: asyncio.Task[None] | None = None

    async def close(self) -> None:
        if self._asking is not None:
            self._asking.cancel()
            with suppress(asyncio.CancelledError):
                await self._asking

    async def entries(self) -> Mapping[str, dict[str, Any]]:
        """OpenAI's entry of each model, by id. If the upstream does not list them in time, those of its last list."""
        if self._asking is None and asyncio.get_running_loop().time() >= self._until:
            self._asking = asyncio.create_task(self._ask())
        if self._asking is not None:
            # Others wait for the same list, so it outlives this caller.
            await asyncio.shield(self._asking)
        return self._entries

    async def _ask(self) -> None:
        seconds = _KEPT_SECONDS
        try:
            self._entries = parse(await self._fetch())
        except (aiohttp.ClientError, OSError, ValueError) as error:
            log.warning("the chat backend lists no models", extra={"fields": {"details": type(error).__name__}})
            seconds = _RETRY_SECONDS
        finally:
            self._until = asyncio.get_running_loop().time() + seconds
            self._asking = None

    async def _fetch(self) -> bytes:
        data = bytearray()
        async with (
            asyncio.timeout(_ANSWER_SECONDS),
            self._session.get(self._address, allow_redirects=False) as response,
        ):
            if response.status != 200:
                raise ValueError(response.status)
            async for piece in response.content.iter_any():
                data += piece
                if len(data) > _LARGEST_LIST:
                    raise ValueError(len(data))
        return bytes(data)


def parse(data: bytes) -> dict[str, dict[str, Any]]:
    """The first ``MOST_MODELS`` entries of a list, by id, with OpenAI's fields alone. Raises ``ValueError``."""
    value = orjson.loads(data)
    items = value.get("data") if isinstance(value, dict) else None
    if not isinstance(items, list):
        raise ValueError("not a list of models")
    entries = (_entry(item) for item in items[:MOST_MODELS] if isinstance(item, dict))
    return {entry["id"]: entry for entry in entries if 0 < len(entry["id"]) <= _LONGEST_NAME}


def _entry(item: Mapping[str, Any]) -> dict[str, Any]:
    created = item.get("created")
    return {
        "id": _text(item.get("id")),
        "object": "model",
        "created": created if type(created) is int else 0,
        "owned_by": _text(item.get("owned_by"))[:_LONGEST_NAME],
    }


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
