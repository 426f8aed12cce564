"""Requests to the API: each is repeated until it is answered, or refused for what it says."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import aiohttp
import orjson

from frontend.bulk.failures import BulkError, ItemError
from frontend.bulk.operations import Operation, Outcome
from frontend.bulk.pace import Pace, pause
from frontend.bulk.sources import Item

# Refusals for what the server is like just now, and how many of them a request may meet.
_BUSY = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT)
_ATTEMPTS = 10
_NO_RIGHT = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED)
_CONNECT_SECONDS = 30.0
_LONGEST_MESSAGE = 500
# Seconds without an answer after which a refusal is told.
_UNTOLD_SECONDS = 5.0


@dataclass(frozen=True)
class Server:
    """``url`` ends with /v1; nothing is answered for ``patience`` seconds before a run gives up."""

    url: str
    key: str
    patience: float


@dataclass(frozen=True)
class _Refusal:
    status: int
    message: str
    type: str = ""
    param: str = ""
    retry_after: float = 0.0


class Client:
    """Sends the requests of one run; to be entered. ``token`` makes their names the run's own.

    ``tell`` is given a sentence when the server has been away for a moment, once until it answers.
    """

    def __init__(
        self, server: Server, operation: Operation, pace: Pace, token: str, tell: Callable[[str], None] = lambda _: None
    ) -> None:
        self._server, self._operation, self.pace, self._token = server, operation, pace, token
        self._tell, self._answered_at, self._told = tell, 0.0, False

    async def __aenter__(self) -> "Client":
        timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=_CONNECT_SECONDS, sock_read=self._operation.answer_seconds
        )
        headers = {"Authorization": f"Bearer {self._server.key}"}
        connector = aiohttp.TCPConnector(limit=0)
        self._session = aiohttp.ClientSession(connector=connector, timeout=timeout, headers=headers, trust_env=True)
        self._answered_at = asyncio.get_running_loop().time()
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self._session.close()

    async def ask(self, items: Sequence[Item]) -> list[Outcome]:
        """What comes of items in one request; ``ItemError`` where it is refused for what it says, or again and again.

        Its name is the same whenever these are sent, by which the server charges them once.
        """
        name = f"bulk-{self._token}-{items[0].number}-{len(items)}"
        attempts, answered = 0, self.pace.answered
        while True:
            async with self.pace.turn() as sent:
                answer = await self._send(items, name)
            if isinstance(answer, bytes):
                self.pace.note_answer()
                self._answered_at, self._told = asyncio.get_running_loop().time(), False
                return self._operation.outcomes(items, answer)
            await self._wait(answer, sent, attempts)
            attempts += answer.status != HTTPStatus.TOO_MANY_REQUESTS
            # One of several may be what the server cannot do; a single one is, where others are answered.
            if attempts >= _ATTEMPTS and (len(items) > 1 or self.pace.answered > answered):
                raise ItemError(answer.message)

    async def _wait(self, refusal: _Refusal, sent: float, attempts: int) -> None:
        """Until it may be tried again; ``BulkError`` or ``ItemError`` where that is of no use."""
        self._end_or_fail(refusal)
        if refusal.status == HTTPStatus.TOO_MANY_REQUESTS:
            self.pace.close_for(max(1.0, refusal.retry_after))
            return
        self.pace.note_busy(sent)
        silence = asyncio.get_running_loop().time() - self._answered_at
        if silence > self._server.patience:
            raise BulkError(f"nothing was answered for {silence:.0f} s, at last: {refusal.message}")
        if silence > _UNTOLD_SECONDS and not self._told:
            self._told = True
            self._tell(f"{refusal.message}; it is tried again for {self._server.patience:.0f} s (--patience)")
        await self.pace.sleep(pause(attempts, refusal.retry_after))

    def _end_or_fail(self, refusal: _Refusal) -> None:
        if refusal.status in _NO_RIGHT or refusal.type == "insufficient_quota":
            raise BulkError(f"{self._server.url}: {refusal.message}")
        if refusal.param in self._operation.options:
            raise BulkError(f"--{refusal.param}: {refusal.message}")
        if HTTPStatus.BAD_REQUEST <= refusal.status < HTTPStatus.INTERNAL_SERVER_ERROR and refusal.status not in (
            *_BUSY,
            HTTPStatus.TOO_MANY_REQUESTS,
        ):
            raise ItemError(refusal.message)

    async def _send(self, items: Sequence[Item], name: str) -> bytes | _Refusal:
        url = self._server.url + self._operation.path
        try:
            with self._operation.body(items) as body:
                async with self._session.post(url, headers={"X-Request-Id": name}, **body) as response:
                    content = await response.read()
                    if response.status == HTTPStatus.OK:
                        return content
                    return _refusal(response, content)
        except aiohttp.InvalidURL:
            raise BulkError(f"{url}: is no address") from None
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            return _Refusal(HTTPStatus.BAD_GATEWAY, f"{self._server.url}: {error or type(error).__name__}")


def _refusal(response: aiohttp.ClientResponse, content: bytes) -> _Refusal:
    try:
        error: dict[str, Any] = orjson.loads(content)["error"]
        said = str(error["message"])[:_LONGEST_MESSAGE], str(error["type"]), str(error.get("param") or "")
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError):
        said = f"the server answers {response.status} {response.reason}", "", ""
    given = response.headers.get("Retry-After", "")
    seconds = float(given) if given.isascii() and given.isdecimal() else 0.0
    return _Refusal(response.status, *said, seconds)
