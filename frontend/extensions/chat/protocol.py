"""Requests to the upstream server, and its refusals in the contract's form."""

import json
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from aiohttp.helpers import parse_http_date

from frontend.catalogue.models import Served
from frontend.errors import AccountRefused, ApiError, BadGateway, InvalidRequest, NotFound, RateLimited, TooLarge
from frontend.extensions.chat.bounds import COMPLETIONS, MAXIMA, references
from frontend.extensions.chat.metering import text_bytes

STREAM = "text/event-stream"
_LONGEST_MESSAGE = 1000  # characters
_LONGEST_WAIT = 60.0  # seconds
# Upstream error codes about the operator's key or account, not the caller's.
_OF_OUR_ACCOUNT = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "invalid_api_key"}
_KINDS: dict[int, type[ApiError]] = {404: NotFound, 413: TooLarge, 429: RateLimited}
# Most tokens that are plausible and fit the database.
_MOST_TOKENS = 2**31
_STREAM_OPTIONS = "stream_options"
_INCLUDE_USAGE = "include_usage"


@dataclass(frozen=True)
class ChatOptions:
    """The parts of a request that the server needs.

    ``stream`` is whether the answer streams, and ``may_stream`` whether a server that takes 1 for true streams it.
    ``text_bytes`` counts the bytes of the request's texts. ``output_tokens`` is the most tokens of an answer that any
    name gives, and ``is_bounded`` whether one that the path's servers read does. ``choices`` is the number of answers.
    ``references`` counts content that is not in the request, if prepaid. ``asks_for_usage`` is None if its value is not
    a boolean; the upstream then decides.
    """

    stream: bool
    may_stream: bool
    asks_for_usage: bool | None
    output_tokens: int
    is_bounded: bool
    choices: int
    references: int
    text_bytes: int

    def most_tokens(self, size: int, usual: int, each: int) -> int:
        """The most tokens of a request of ``size`` bytes and its answer: ``usual`` ones of an unbounded answer, and
        ``each`` of a reference.
        """
        # The tokens of text are never more than its bytes.
        output = self.output_tokens if self.is_bounded else max(self.output_tokens, usual)
        return min(_MOST_TOKENS, size + output * self.choices + each * self.references)


def parse(values: Mapping[str, Any], served: Served, *, path: str, prepaid: bool) -> ChatOptions:
    """Accept any JSON object, if it is not ``prepaid``. The upstream checks everything else."""
    given = {name: count for names in MAXIMA.values() for name in names if (count := _count(values.get(name)))}
    options = values.get(_STREAM_OPTIONS, {})
    asks = (options.get(_INCLUDE_USAGE) or False) if isinstance(options, dict) else None
    return ChatOptions(
        stream=values.get("stream") is True,
        may_stream=values.get("stream") not in (None, False),
        asks_for_usage=asks if isinstance(asks, bool) else None,
        output_tokens=max(given.values(), default=0),
        is_bounded=not given.keys().isdisjoint(MAXIMA[path]),
        choices=(_count(values.get("n")) or 1) if path == COMPLETIONS else 1,
        references=references(path, values) if prepaid else 0,
        text_bytes=text_bytes(dict(values)),
    )


def _count(value: Any) -> int | None:
    return min(value, _MOST_TOKENS) if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def adds_usage(path: str, options: ChatOptions, *, prepaid: bool) -> bool:
    """Whether to add a request for the usage: streams of completions have it only on request.

    What is no request for all servers is none for a ``prepaid`` caller.
    """
    asks = options.asks_for_usage is True if prepaid else options.asks_for_usage is not False
    return path == COMPLETIONS and options.may_stream and not asks


def with_usage(body: bytes | bytearray) -> bytes:
    """The body with a request for the usage. Raises as ``_changed`` does."""

    def change(values: dict[str, Any]) -> None:
        given = values.get(_STREAM_OPTIONS)
        values[_STREAM_OPTIONS] = {**(given if isinstance(given, dict) else {}), _INCLUDE_USAGE: True}

    return _changed(body, change)


def with_maximum(path: str, tokens: int, body: bytes | bytearray) -> bytes:
    """The body with the most tokens of its answer. Raises as ``_changed`` does."""
    return _changed(body, lambda values: values.update({MAXIMA[path][-1]: tokens}))


def _changed(body: bytes | bytearray, change: Callable[[dict[str, Any]], None]) -> bytes:
    """The body with a change.

    Raises ``InvalidRequest`` for a number that is too long, or too large for a float.
    """
    try:
        values = json.loads(body)
        change(values)
        return json.dumps(values, allow_nan=False).encode()
    except ValueError:
        raise InvalidRequest("a number in the request body is too long or too large") from None


def refusal(status: int, body: bytes, retry_after: str | None) -> ApiError:
    """An upstream's error in the contract's form.

    Errors about the request keep their message. Errors about our own key or account become ``AccountRefused``, and
    timeouts, redirections and server errors ``BadGateway``.
    """
    error, seconds = _error(body), _seconds(retry_after)
    if status in (401, 402, 403, 407) or not _OF_OUR_ACCOUNT.isdisjoint((error.get("code"), error.get("type"))):
        return AccountRefused("the chat backend refuses this service; its operator must see to it")
    if status == 408 or not 400 <= status < 500:
        return BadGateway("the chat backend is temporarily unreachable, retry with backoff", retry_after=seconds)
    message = error.get("message", "the chat backend refused the request")[:_LONGEST_MESSAGE]
    headers = {"Retry-After": str(seconds)} if status == 429 else {}
    return _KINDS.get(status, InvalidRequest)(
        message, param=error.get("param"), code=error.get("code"), headers=headers
    )


def _seconds(retry_after: str | None) -> int:
    """Seconds until a retry, from 1 to 60, from a number or a date; 1 if absent."""
    try:
        seconds = float(retry_after or "")
    except ValueError:
        try:
            date = parse_http_date(retry_after)
        except OverflowError:
            # Of a year with twenty digits.
            date = None
        seconds = 0.0 if date is None else date.timestamp() - time.time()
    # This also replaces NaN, which compares as not larger.
    return math.ceil(min(_LONGEST_WAIT, max(1.0, seconds)))


def _error(body: bytes) -> dict[str, str]:
    """The fields of an upstream's error, from OpenAI's form or other common ones."""
    try:
        # Stricter than json: its results can always be serialised again.
        value = orjson.loads(body)
    except ValueError:
        return {}
    if not isinstance(value, dict):
        return {}
    error = value.get("error") or value.get("detail") or value
    if isinstance(error, list):
        error = {"message": error[0].get("msg")} if isinstance(error[0], dict) else {}
    if isinstance(error, str):
        error = {**value, "message": error}
    return {name: text for name, text in error.items() if isinstance(text, str)} if isinstance(error, dict) else {}
