"""JSON bodies: a stricter grammar than JSON's. Worker processes parse long bodies."""

import codecs
import hashlib
import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from aiohttp import web

from frontend.billing.bill import CONTENT
from frontend.catalogue.models import Served
from frontend.config.settings import Settings
from frontend.dispatch.context import RequestContext
from frontend.dispatch.worker_queue import WorkerQueue
from frontend.errors import InvalidRequest, TooLarge
from frontend.http.arrival import receive_body, refuse_encoding
from frontend.http.memory import MemoryReservation
from frontend.parameters.table import check_name
from frontend.processes.offload import TaskKilledError

Parsed = TypeVar("Parsed")
# Builds a request from a JSON object and the served models, or raises an ApiError. Processes import it by name.
Converts = Callable[[Mapping[str, Any], Served], Parsed]

_DEEPEST = 32  # levels
# Bytes. The worst body of this length takes a few milliseconds to parse.
INLINE_BYTES = 32 * 1024
# Memory per byte of body: a text with one non-Latin character takes four bytes per character.
_BYTES_PER_BYTE = 5


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        check_name(key)
        if key in result:
            raise InvalidRequest(f"parameter given twice: {key}", param=key)
        result[key] = value
    return result


def _no_constant(name: str) -> Any:
    raise InvalidRequest(f"{name} is not a JSON number")


def _check_depth(value: Any) -> None:
    """Raise 400 for deep nesting. It checks level by level, without recursion."""
    level = [value]
    for _ in range(_DEEPEST):
        level = [
            child
            for parent in level
            for child in (parent.values() if isinstance(parent, dict) else parent)
            if isinstance(child, dict | list)
        ]
        if not level:
            return
    raise InvalidRequest(f"the JSON is nested deeper than {_DEEPEST} levels")


def _value_of(text: str) -> Any:
    # orjson keeps the last value of a duplicate key and turns long integers into floats.
    load = partial(json.loads, text, object_pairs_hook=_no_duplicates, parse_constant=_no_constant)
    try:
        return load()
    except json.JSONDecodeError:
        raise
    except ValueError:
        # Python refuses integers of more than some thousand digits. We read those as infinite, so that the parameter's
        # own check refuses them. A function for each integer is too slow for other bodies.
        return load(parse_int=_integer)


def _integer(digits: str) -> int | float:
    try:
        return int(digits)
    except ValueError:
        return float(digits)


def parse_json(data: bytes | bytearray) -> dict[str, Any]:
    """A JSON object from bytes. Null values are dropped: null is the same as absent."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidRequest("the request body is not valid UTF-8") from None
    try:
        value = _value_of(text)
    except (ValueError, RecursionError):
        raise InvalidRequest("the request body is not valid JSON") from None
    if not isinstance(value, dict):
        raise InvalidRequest("the request body must be a JSON object")
    _check_depth(value)
    return {key: item for key, item in value.items() if item is not None}


def convert(data: bytes | bytearray, converts: Converts[Parsed], served: Served) -> Parsed:
    """Parse a body and build a request from it."""
    return converts(parse_json(data), served)


async def read_bytes(request: web.Request, settings: Settings, memory: MemoryReservation) -> bytearray:
    """The bytes of a JSON body, without a byte order mark. Raises 400 for a form, and 408, 413 or 415."""
    limit = settings.max_body_bytes
    too_large = TooLarge(f"the request body is larger than {limit} bytes")
    refuse_encoding(request)
    if request.content_type.startswith("multipart/"):
        raise InvalidRequest("this endpoint takes JSON, not multipart/form-data")
    data, digest = bytearray(), hashlib.sha256()
    async with receive_body(request, settings, limit, too_large) as pieces:
        async for piece in pieces:
            memory.add(_BYTES_PER_BYTE * len(piece))
            data += piece
            digest.update(piece)
    request[CONTENT] = digest.digest()
    if data.startswith(codecs.BOM_UTF8):
        del data[: len(codecs.BOM_UTF8)]
    return data


class JsonBodies:
    """Reads JSON bodies. ``pool`` has processes, since parsing never releases the interpreter's lock."""

    def __init__(self, settings: Settings, pool: WorkerQueue) -> None:
        self._settings, self._pool = settings, pool

    async def read(
        self, request: web.Request, memory: MemoryReservation, context: RequestContext, converts: Converts[Parsed]
    ) -> Parsed:
        """Read a body and build a request from it."""
        return await self.parse(await read_bytes(request, self._settings, memory), context, converts)

    async def parse(self, data: bytes | bytearray, context: RequestContext, converts: Converts[Parsed]) -> Parsed:
        """Build a request from a body that has arrived."""
        served = self._settings.served
        if len(data) <= INLINE_BYTES:
            return convert(data, converts, served)
        try:
            return await self._pool.run(context, convert, data, converts, served)
        except TaskKilledError:
            raise InvalidRequest("the request body is not valid JSON") from None
