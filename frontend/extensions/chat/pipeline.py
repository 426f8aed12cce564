"""Forwards requests to an OpenAI-compatible server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp

from frontend.catalogue.models import CHAT
from frontend.config.settings import Settings
from frontend.dispatch.context import RequestContext
from frontend.dispatch.dispatcher import Dispatcher
from frontend.errors import BadGateway
from frontend.extensions.chat.models import UpstreamModels
from frontend.extensions.chat.protocol import STREAM, refusal
from frontend.observe.logs import log, request_id
from frontend.observe.record import current

_CONNECT_SECONDS = 5.0
_NOT_UNDERSTOOD = (400, 422)
_LARGEST_ERROR = 256 * 1024  # bytes
_LARGEST_ANSWER = 16 * 1024 * 1024  # bytes
_AWAY = "the chat backend is temporarily unreachable, retry with backoff"


class TooLongAnswer(BadGateway):
    """The upstream does not come to an end."""


class ChatPipeline:
    """One upstream. Make it inside the event loop that uses it."""

    def __init__(self, settings: Settings, dispatcher: Dispatcher) -> None:
        self._base = settings.chat_upstream.rstrip("/")
        self._dispatcher = dispatcher
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS, sock_read=settings.request_seconds)
        key = settings.chat_upstream_key
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._session = aiohttp.ClientSession(
            timeout=timeout,
            headers=headers,
            auto_decompress=True,
            # A cookie for one tenant must not be sent with the request of another.
            cookie_jar=aiohttp.DummyCookieJar(),
            # The queue bounds the calls.
            connector=aiohttp.TCPConnector(limit=0),
        )

        self.models = UpstreamModels(self._session, f"{self._base}/models")

    async def close(self) -> None:
        await self.models.close()
        await self._session.close()

    @asynccontextmanager
    async def run(
        self, path: str, body: bytes | bytearray, extended: bytes | None, context: RequestContext, *, streamed: bool
    ) -> AsyncIterator[tuple[str, AsyncIterator[bytes]]]:
        """Post to ``path``, and yield the content type and the body of a successful answer.

        ``extended`` is the body with a request for the usage. It is tried first; not every upstream accepts it. The
        slot is in use within the block, at most until the deadline. Raises ``BadGateway`` if a ``streamed`` answer
        is no stream: a client would read it as an empty one.
        """
        async with self._dispatcher.queue(CHAT).slot(context):
            try:
                with current().backend:
                    async with (
                        asyncio.timeout_at(context.deadline),
                        await self._call(path, body, extended) as response,
                    ):
                        _check_form(response.content_type, streamed)
                        yield response.content_type, _pieces(response)
            except TimeoutError:
                log.warning("the chat backend is late")
                raise BadGateway("the chat backend did not answer in time, retry with backoff") from None

    async def _call(self, path: str, body: bytes | bytearray, extended: bytes | None) -> aiohttp.ClientResponse:
        headers = {"Content-Type": "application/json", "X-Request-Id": request_id.get()}
        data = body if extended is None else extended
        try:
            response = await self._session.post(self._base + path, data=data, headers=headers, allow_redirects=False)
            if response.status == 200:
                return response
            async with response:
                error_body = await _error_body(response)
        except (aiohttp.ClientError, OSError) as error:
            raise _away(error) from None
        if extended is not None and response.status in _NOT_UNDERSTOOD:
            return await self._call(path, body, None)
        log.warning("the chat backend refused", extra={"fields": {"status": response.status}})
        raise refusal(response.status, error_body, response.headers.get("Retry-After"))


def _check_form(kind: str, streamed: bool) -> None:
    if kind == STREAM or (not streamed and (kind == "application/json" or kind.endswith("+json"))):
        return
    log.warning("the chat backend answered in another form", extra={"fields": {"details": kind, "streamed": streamed}})
    raise BadGateway("the chat backend answered in another form than was asked for")


async def _error_body(response: aiohttp.ClientResponse) -> bytes:
    """The whole body; empty if it is too long."""
    body = bytearray()
    async for piece in response.content.iter_any():
        body += piece
        if len(body) > _LARGEST_ERROR:
            return b""
    return bytes(body)


async def _pieces(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    size = 0
    try:
        async for piece in response.content.iter_any():
            size += len(piece)
            if size > _LARGEST_ANSWER:
                log.warning("the chat backend does not come to an end")
                raise TooLongAnswer("the chat backend gave too long an answer")
            yield piece
    except (aiohttp.ClientError, OSError) as error:
        raise _away(error) from None


def _away(error: Exception) -> BadGateway:
    log.warning("the chat backend failed", extra={"fields": {"details": type(error).__name__}})
    return BadGateway(_AWAY)
