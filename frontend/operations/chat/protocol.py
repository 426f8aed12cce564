"""What goes to the upstream server, and what its refusals become."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from frontend.catalogue.models import Served
from frontend.errors import ApiError, BadGateway, InvalidRequest, NotFound, RateLimited, TooLarge
from frontend.operations.chat.metering import text_bytes

COMPLETIONS = "/chat/completions"
_LONGEST_MESSAGE = 1000
_KINDS: dict[int, type[ApiError]] = {404: NotFound, 413: TooLarge, 429: RateLimited}
_MOST_OUTPUT = ("max_completion_tokens", "max_output_tokens", "max_tokens")
_MOST_CHOICES = 128
# More is nobody's answer, and would not fit the database.
_MOST_TOKENS = 2**31
_STREAM_OPTIONS = "stream_options"
_INCLUDE_USAGE = "include_usage"
_TELL_USAGE = b'{"stream_options":{"include_usage":true},'


@dataclass(frozen=True)
class Wishes:
    """What of a request matters here: whether it wants a stream, and its usage; what it says, in bytes.

    ``output_tokens`` is how many it lets be made. ``asks_for_usage`` is None where it says something else of it than
    yes or no, which is the upstream's affair.
    """

    stream: bool
    asks_for_usage: bool | None
    output_tokens: int | None
    said: int


def parse(values: Mapping[str, Any], served: Served) -> Wishes:
    """Any JSON object will do: what else it says is the upstream's affair."""
    tokens = [value for name in _MOST_OUTPUT if (value := _count(values.get(name))) is not None]
    choices = min(_count(values.get("n")) or 1, _MOST_CHOICES)
    output = max(tokens) * choices if tokens else None
    options = values.get(_STREAM_OPTIONS, {})
    asks = (options.get(_INCLUDE_USAGE) or False) if isinstance(options, dict) else None
    return Wishes(
        values.get("stream") is True, asks if isinstance(asks, bool) else None, output, text_bytes(dict(values))
    )


def _count(value: Any) -> int | None:
    return min(value, _MOST_TOKENS) if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def adds_usage(path: str, wishes: Wishes) -> bool:
    """Whether we ask for the usage, which completions tell in a stream only when asked; then it is not passed on."""
    return path == COMPLETIONS and wishes.stream and wishes.asks_for_usage is False


def with_usage(body: bytes | bytearray) -> bytes:
    """The body with the wish for its usage, else as its client wrote it; one that says more of it is written anew."""
    if f'"{_STREAM_OPTIONS}"'.encode() not in body:
        return _TELL_USAGE + bytes(body).lstrip()[1:]
    values = json.loads(body)
    return json.dumps(
        {**values, _STREAM_OPTIONS: {**(values.get(_STREAM_OPTIONS) or {}), _INCLUDE_USAGE: True}}
    ).encode()


def refusal(status: int, body: bytes, retry_after: str | None) -> ApiError:
    """An upstream's answer that is no success, in the contract's table of errors.

    What it says of the request goes on to the client. Refusals of our own key or account, redirections and faults are
    its own.
    """
    if not 400 <= status < 500 or status in (401, 402, 403, 407, 408):
        return BadGateway("the chat backend is temporarily unreachable, retry with backoff")
    error = _error(body)
    headers = {}
    if status == 429:
        headers["Retry-After"] = retry_after if retry_after is not None and retry_after.isdecimal() else "1"
    message = error.get("message", "the chat backend refused the request")[:_LONGEST_MESSAGE]
    return _KINDS.get(status, InvalidRequest)(
        message, param=error.get("param"), code=error.get("code"), headers=headers
    )


def _error(body: bytes) -> dict[str, str]:
    """What an error says in words."""
    try:
        # Stricter than json: what it lets through can be written again.
        value = orjson.loads(body)
    except ValueError:
        return {}
    error = value.get("error") if isinstance(value, dict) else None
    return {name: said for name, said in error.items() if isinstance(said, str)} if isinstance(error, dict) else {}
