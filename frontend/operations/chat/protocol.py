"""What goes to the upstream server, and what its refusals become."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from frontend.catalogue.models import Served
from frontend.errors import ApiError, BadGateway, InvalidRequest, NotFound, RateLimited, TooLarge

COMPLETIONS = "/chat/completions"
_LONGEST_MESSAGE = 1000
_KINDS: dict[int, type[ApiError]] = {404: NotFound, 413: TooLarge, 429: RateLimited}
_MOST_OUTPUT = ("max_completion_tokens", "max_output_tokens", "max_tokens")
_MOST_CHOICES = 128
_TELL_USAGE = b'{"stream_options":{"include_usage":true},'


@dataclass(frozen=True)
class Wishes:
    """What of a request matters here: whether it wants a stream, and how that ends; tokens that it lets be made."""

    stream: bool
    has_stream_options: bool
    output_tokens: int | None


def parse(values: Mapping[str, Any], served: Served) -> Wishes:
    """Any JSON object will do: what else it says is the upstream's affair."""
    tokens = [value for name in _MOST_OUTPUT if (value := _count(values.get(name))) is not None]
    choices = min(_count(values.get("n")) or 1, _MOST_CHOICES)
    output = max(tokens) * choices if tokens else None
    return Wishes(values.get("stream") is True, "stream_options" in values, output)


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**31 else None


def asks_for_usage(path: str, wishes: Wishes) -> bool:
    """Whether we ask for the usage that a stream tells only when it is asked to; then it is not passed on."""
    return path == COMPLETIONS and wishes.stream and not wishes.has_stream_options


def outgoing(path: str, body: bytearray, wishes: Wishes) -> bytes | bytearray:
    """The body as its client wrote it, but for the wish for its usage."""
    return _TELL_USAGE + bytes(body).lstrip()[1:] if asks_for_usage(path, wishes) else body


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
