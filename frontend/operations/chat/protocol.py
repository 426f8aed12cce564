"""What goes to the upstream server, and what its refusals become."""

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from aiohttp.helpers import parse_http_date

from frontend.catalogue.models import Served
from frontend.errors import ApiError, BadGateway, InvalidRequest, NotFound, RateLimited, TooLarge

COMPLETIONS = "/chat/completions"
STREAM = "text/event-stream"
_LONGEST_MESSAGE = 1000
_LONGEST_WAIT = 60.0
# What it says of a key or an account that is the operator's and not the caller's.
_OF_OUR_ACCOUNT = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "invalid_api_key"}
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
    error, seconds = _error(body), _seconds(retry_after)
    ours = status in (401, 402, 403, 407, 408) or not _OF_OUR_ACCOUNT.isdisjoint((error.get("code"), error.get("type")))
    if ours or not 400 <= status < 500:
        return BadGateway("the chat backend is temporarily unreachable, retry with backoff", retry_after=seconds)
    message = error.get("message", "the chat backend refused the request")[:_LONGEST_MESSAGE]
    headers = {"Retry-After": str(seconds)} if status == 429 else {}
    return _KINDS.get(status, InvalidRequest)(
        message, param=error.get("param"), code=error.get("code"), headers=headers
    )


def _seconds(retry_after: str | None) -> int:
    """When to come back: whole seconds from 1 to 60, of a number or a date; 1 where neither is given."""
    try:
        seconds = float(retry_after or "")
    except ValueError:
        date = parse_http_date(retry_after)
        seconds = 0.0 if date is None else date.timestamp() - time.time()
    # A NaN is not larger than anything.
    return math.ceil(min(_LONGEST_WAIT, max(1.0, seconds)))


def _error(body: bytes) -> dict[str, str]:
    """What an error says in words: as OpenAI's servers have it, or as others put it."""
    try:
        # Stricter than json: what it lets through can be written again.
        value = orjson.loads(body)
    except ValueError:
        return {}
    if not isinstance(value, dict):
        return {}
    said = value.get("error") or value.get("detail") or value
    if isinstance(said, list):
        said = {"message": said[0].get("msg")} if isinstance(said[0], dict) else {}
    if isinstance(said, str):
        said = {**value, "message": said}
    return {name: word for name, word in said.items() if isinstance(word, str)} if isinstance(said, dict) else {}
