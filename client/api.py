"""Client of a running server's HTTP API. Every refusal has the same form."""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Self

import aiohttp
import orjson

URL, KEY = "QUARTET_URL", "QUARTET_API_KEY"
_NO_RIGHT = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
_NO_MONEY = "insufficient_quota"
_CONNECT_SECONDS = 30.0
_LONGEST_MESSAGE = 500  # characters


class CommandError(Exception):
    """Ends the command. The message is a sentence for the user."""


@dataclass(frozen=True)
class Refusal:
    """The API's error, or status 0 if no server answers. ``retry_after`` is in seconds, or 0."""

    status: int
    message: str
    type: str = ""
    param: str = ""
    retry_after: float = 0.0

    @property
    def is_rate_limited(self) -> bool:
        """The key exceeded its rate limit."""
        return self.status == HTTPStatus.TOO_MANY_REQUESTS

    @property
    def is_busy(self) -> bool:
        """The server is temporarily unable to answer."""
        return self.status in (0, HTTPStatus.REQUEST_TIMEOUT) or self.status >= HTTPStatus.INTERNAL_SERVER_ERROR


def required(value: str, variable: str, option: str = "") -> str:
    """A required value; ``CommandError`` if neither the variable nor the option has it."""
    if not value:
        raise CommandError(f"set {variable}" + f" or {option}" * bool(option))
    return value


def address(url: str) -> str:
    """The API's address, which ends with /v1, from a server's address."""
    if not required(url, URL, "--url").startswith(("http://", "https://")):
        raise CommandError(f"{url}: the address of the product begins with http:// or https://")
    return f"{url.rstrip('/').removesuffix('/v1')}/v1"


class Api:
    """A session with a server, as a context manager.

    ``url`` ends with /v1. A request times out after ``answer_seconds`` of silence.
    """

    def __init__(self, url: str, key: str, answer_seconds: float = 900.0) -> None:
        self.url, self._key, self._answer_seconds = url, key, answer_seconds

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS, sock_read=self._answer_seconds),
            headers={"Authorization": f"Bearer {self._key}"},
            trust_env=True,
        )
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self._session.close()

    async def send(self, method: str, path: str, **request: Any) -> bytes | Refusal:
        """The body of an answer of status 200. ``CommandError`` if no request of this key can succeed."""
        try:
            async with self._session.request(method, self.url + path, **request) as response:
                content = await response.read()
        except aiohttp.InvalidURL:
            raise CommandError(f"{self.url}: is no address") from None
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            return Refusal(0, f"{self.url}: {error or type(error).__name__}")
        if response.status == HTTPStatus.OK:
            return content
        refusal = _refusal(response, content)
        if refusal.status in _NO_RIGHT or refusal.type == _NO_MONEY:
            raise CommandError(f"{self.url}: {refusal.message}")
        return refusal


def _refusal(response: aiohttp.ClientResponse, content: bytes) -> Refusal:
    try:
        error: dict[str, Any] = orjson.loads(content)["error"]
        fields = str(error["message"])[:_LONGEST_MESSAGE], str(error["type"]), str(error.get("param") or "")
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError):
        fields = f"the server answers {response.status} {response.reason}", "", ""
    seconds = response.headers.get("Retry-After", "")
    return Refusal(response.status, *fields, float(seconds) if seconds.isascii() and seconds.isdecimal() else 0.0)
