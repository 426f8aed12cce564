"""JSON answers, rendered by orjson. Arrays of float32 need no Python floats."""

import uuid
from collections.abc import Mapping
from typing import Any

import orjson
from aiohttp import hdrs, web

from frontend.errors import ApiError

# Value of the ``Server`` header. It does not disclose the framework or its version.
SERVER = "quartet"
JSON: Mapping[str, str] = {"Content-Type": "application/json"}
# Some clients read text without a charset as Latin-1.
EVENTS: Mapping[str, str] = {"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache"}


def render_json(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)


def render_event(value: Any) -> bytes:
    """A server-sent event."""
    return b"data: %b\n\n" % render_json(value)


def json_response(value: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    return web.Response(body=render_json(value), status=status, headers={**JSON, **(headers or {})})


def error_response(failure: ApiError) -> web.Response:
    answer = json_response(failure.body(), status=failure.status, headers=failure.headers)
    if failure.headers.get(hdrs.CONNECTION) == "close":
        answer.force_close()
    return answer


def refusal(failure: ApiError) -> web.Response:
    """The last answer of a connection, to bytes that are no request. No middleware adds headers to it."""
    answer = error_response(failure)
    # HTTP/1.0 clients get no such headers from the framework.
    answer.headers.update({"X-Request-Id": uuid.uuid4().hex, "Server": SERVER, "Connection": "close"})
    answer.force_close()
    return answer


def refusal_bytes(failure: ApiError) -> bytes:
    """The bytes of ``refusal``, for a caller whose request is not read."""
    answer = refusal(failure)
    assert isinstance(answer.body, bytes)
    headers = {**answer.headers, "Content-Length": str(len(answer.body))}
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {answer.status} {answer.reason}\r\n{head}\r\n".encode() + answer.body
