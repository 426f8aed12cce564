"""What goes to the upstream server, and what its refusals become."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from frontend.errors import ApiError, BadGateway, InvalidRequest, NotFound, RateLimited, TooLarge

_LONGEST_MESSAGE = 1000
_KINDS: dict[int, type[ApiError]] = {404: NotFound, 413: TooLarge, 429: RateLimited}


@dataclass(frozen=True)
class ChatRequest:
    """A JSON object as the client wrote it, and the path below the upstream's base address."""

    path: str
    body: bytearray


def check(values: Mapping[str, Any]) -> None:
    """Any JSON object will do: its parameters are the upstream's affair."""


def refusal(status: int, body: bytes, retry_after: str | None) -> ApiError:
    """An upstream's answer that is no success, in the contract's table of errors.

    What it says of the request goes on to the client. A refusal of our own key (401, 403) and faults are its own.
    """
    if status >= 500 or status in (401, 403, 407, 408):
        return BadGateway("the chat backend is temporarily unreachable, retry with backoff")
    error = _error(body)
    headers = {}
    if status == 429:
        headers["Retry-After"] = retry_after if retry_after is not None and retry_after.isdecimal() else "1"
    message = error.get("message")
    return _KINDS.get(status, InvalidRequest)(
        message[:_LONGEST_MESSAGE] if isinstance(message, str) else "the chat backend refused the request",
        param=error["param"] if isinstance(error.get("param"), str) else None,
        code=error["code"] if isinstance(error.get("code"), str) else None,
        headers=headers,
    )


def _error(body: bytes) -> dict[str, Any]:
    try:
        # Stricter than json: what it lets through can be written again.
        value = orjson.loads(body)
    except ValueError:
        return {}
    error = value.get("error") if isinstance(value, dict) else None
    return error if isinstance(error, dict) else {}
