"""JSON answers, written by orjson: arrays of float32 go out without a detour over Python floats."""

import uuid
from collections.abc import Mapping
from typing import Any

import orjson
from aiohttp import web

from frontend.errors import ApiError

# What answers call the server: the framework and its version are nobody's business.
SERVER = "quartet"
JSON: Mapping[str, str] = {"Content-Type": "application/json"}


def render_json(value: Any) -> bytes:
    """The body of a JSON answer."""
    return orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)


def json_response(value: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    """A JSON response with its exact length."""
    return web.Response(body=render_json(value), status=status, headers={**JSON, **(headers or {})})


def error_response(failure: ApiError) -> web.Response:
    """An error as a client reads it."""
    return json_response(failure.body(), status=failure.status, headers=failure.headers)


def refusal(failure: ApiError) -> web.Response:
    """The last answer of a connection, to what is no request: no middleware adds the contract's headers to it."""
    answer = error_response(failure)
    # For one who speaks HTTP/1.0 too, whom the framework tells nothing.
    answer.headers.update({"X-Request-Id": uuid.uuid4().hex, "Server": SERVER, "Connection": "close"})
    answer.force_close()
    return answer


def refusal_bytes(failure: ApiError) -> bytes:
    """The same for who is answered without being read."""
    answer = refusal(failure)
    assert isinstance(answer.body, bytes)
    headers = {**answer.headers, "Content-Length": str(len(answer.body))}
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {answer.status} {answer.reason}\r\n{head}\r\n".encode() + answer.body
