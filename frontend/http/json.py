"""JSON bodies: a grammar that is stricter than JSON's, and long bodies parsed where nobody waits for them."""

import codecs
import hashlib
import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from aiohttp import web

from frontend.catalogue.models import Served
from frontend.config.settings import Settings
from frontend.dispatch.context import RequestContext
from frontend.dispatch.pool import Pool
from frontend.errors import InvalidRequest, TooLarge
from frontend.http import fields
from frontend.http.arrival import CONTENT, arriving, refuse_encoding
from frontend.http.held import Holding
from frontend.processes.offload import TaskKilledError

Parsed = TypeVar("Parsed")
# Makes a request of a JSON object and of what is served, or raises an error of ours; other processes find it by its
# name.
Converts = Callable[[Mapping[str, Any], Served], Parsed]

_DEEPEST = 32
# The worst body of this length takes a few milliseconds.
INLINE_BYTES = 32 * 1024
# A character of text takes four bytes where one of them is far from Latin.
_BYTES_PER_BYTE = 5


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        fields.check_name(key)
        if key in result:
            raise InvalidRequest(f"parameter given twice: {key}", param=key)
        result[key] = value
    return result


def _no_constant(name: str) -> Any:
    raise InvalidRequest(f"{name} is not a JSON number")


def _check_depth(value: Any) -> None:
    """400 for what is nested too deeply; level by level, so that nothing recurses and everything is looked at once."""
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
    # orjson keeps the last of two values of a key, and makes floats of long integers.
    load = partial(json.loads, text, object_pairs_hook=_no_duplicates, parse_constant=_no_constant)
    try:
        return load()
    except json.JSONDecodeError:
        raise
    except ValueError:
        # Of integers, Python reads some thousand digits. A longer one becomes infinite, which no parameter may be, so
        # that the parameter's own check names it; a function for each integer takes too long for all other bodies.
        return load(parse_int=_integer)


def _integer(digits: str) -> int | float:
    try:
        return int(digits)
    except ValueError:
        return float(digits)


def parse_json(data: bytes | bytearray) -> dict[str, Any]:
    """A JSON object from bytes; null values are dropped, being the same as absent."""
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
    """Parse a body and make a request of it."""
    return converts(parse_json(data), served)


async def read_bytes(request: web.Request, settings: Settings, holding: Holding) -> bytearray:
    """Read the bytes of a JSON body, without a byte order mark; 400 for a form, 408, 413, 415 as the settings say."""
    limit = settings.max_body_bytes
    too_large = TooLarge(f"the request body is larger than {limit} bytes")
    refuse_encoding(request)
    if request.content_type.startswith("multipart/"):
        raise InvalidRequest("this endpoint takes JSON, not multipart/form-data")
    data, digest = bytearray(), hashlib.sha256()
    async with arriving(request, settings, limit, too_large) as pieces:
        async for piece in pieces:
            holding.add(_BYTES_PER_BYTE * len(piece))
            data += piece
            digest.update(piece)
    request[CONTENT] = digest.digest()
    if data.startswith(codecs.BOM_UTF8):
        del data[: len(codecs.BOM_UTF8)]
    return data


class JsonBodies:
    """Reads JSON bodies; ``pool`` is of processes, since parsing never gives up the interpreter's lock."""

    def __init__(self, settings: Settings, pool: Pool) -> None:
        self._settings, self._pool = settings, pool

    async def read(
        self, request: web.Request, holding: Holding, context: RequestContext, converts: Converts[Parsed]
    ) -> Parsed:
        """Read a body and make a request of it."""
        return await self.parse(await read_bytes(request, self._settings, holding), context, converts)

    async def parse(self, data: bytes | bytearray, context: RequestContext, converts: Converts[Parsed]) -> Parsed:
        """Make a request of a body that has arrived."""
        served = self._settings.served
        if len(data) <= INLINE_BYTES:
            return convert(data, converts, served)
        try:
            return await self._pool.run(context, convert, data, converts, served)
        except TaskKilledError:
            raise InvalidRequest("the request body is not valid JSON") from None
