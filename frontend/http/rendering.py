"""JSON answers, written by orjson: arrays of float32 go out without a detour over Python floats."""

from collections.abc import Mapping
from typing import Any

import orjson
from aiohttp import web

# What answers call the server: the framework and its version are nobody's business.
SERVER = "quartet"
_OPTIONS = orjson.OPT_SERIALIZE_NUMPY


def json_response(value: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    """A JSON response with its exact length."""
    body = orjson.dumps(value, option=_OPTIONS)
    return web.Response(body=body, status=status, headers=headers, content_type="application/json")
