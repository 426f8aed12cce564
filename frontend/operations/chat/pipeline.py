"""Forwards to an OpenAI-compatible server; a stream goes on piece by piece."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp

from frontend.config import Settings
from frontend.dispatch.dispatcher import Dispatcher
from frontend.dispatch.model_queue import Turn
from frontend.errors import BadGateway
from frontend.observe import log, request_id
from frontend.operations.chat.protocol import ChatRequest, refusal

_CONNECT_SECONDS = 5.0
_LARGEST_ERROR = 64 * 1024
CHAT_MODEL = "chat"


class ChatPipeline:
    """One upstream; made inside the event loop that uses it."""

    def __init__(self, settings: Settings, dispatcher: Dispatcher) -> None:
        self._base = settings.chat_upstream.rstrip("/")
        self._dispatcher = dispatcher
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS, sock_read=settings.request_seconds)
        key = settings.chat_upstream_key
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._session = aiohttp.ClientSession(timeout=timeout, headers=headers, auto_decompress=True)

    async def close(self) -> None:
        await self._session.close()

    @asynccontextmanager
    async def run(self, request: ChatRequest, turn: Turn) -> AsyncIterator[aiohttp.ClientResponse]:
        """The upstream's successful answer, its body yet to be read; a slot is held until it is."""
        headers = {"Content-Type": "application/json", "X-Request-Id": request_id.get()}
        async with self._dispatcher.slot(CHAT_MODEL, turn):
            try:
                async with self._session.post(
                    self._base + request.path, data=request.body, headers=headers, allow_redirects=False
                ) as response:
                    if response.status != 200:
                        body = await response.content.read(_LARGEST_ERROR)
                        log.warning("the chat backend refused", extra={"fields": {"status": response.status}})
                        raise refusal(response.status, body, response.headers.get("Retry-After"))
                    yield response
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                log.warning("the chat backend failed", extra={"fields": {"details": type(error).__name__}})
                raise BadGateway("the chat backend is temporarily unreachable, retry with backoff") from None
