"""Counted readers of request bodies: size, time and shape are checked while the bytes arrive."""

import asyncio
import hashlib
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from aiohttp import BodyPartReader, MultipartReader, web
from aiohttp.http_exceptions import HttpProcessingError

from frontend.config import Settings
from frontend.errors import InvalidRequest, TooLarge, UnsupportedMedia, UploadTimeout

if TYPE_CHECKING:
    from hashlib import _Hash as Digest

EXPECTED = web.RequestKey("expected", bool)
# A digest of what the body says, the same when a client sends it again.
CONTENT = web.RequestKey("content", bytes)
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_DEEPEST = 32
_LONGEST_FIELD = 64 * 1024
_LONGEST_NAME = 256
_MOST_PARTS = 64
_FORM_OVERHEAD = 1024 * 1024
_RATE_SECONDS = 10.0
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_BRACKET = re.compile(r"[\[\]{}]")


@dataclass
class Form:
    """A multipart body: text fields in order, and the bytes of the one file."""

    fields: list[tuple[str, str]] = field(default_factory=list)
    file: bytes | None = None


@asynccontextmanager
async def _arrival(request: web.Request, settings: Settings) -> AsyncIterator[None]:
    """While the body is read: 408 when it takes too long in all, or comes slower than the lowest rate."""
    loop = asyncio.get_running_loop()
    window = min(_RATE_SECONDS, settings.body_seconds)
    seen = 0
    check: asyncio.TimerHandle

    def check_rate(deadline: asyncio.Timeout) -> None:
        nonlocal seen, check
        if deadline.expired():
            return
        arrived = request.content.total_bytes - seen
        if arrived < settings.min_body_rate * window:
            deadline.reschedule(loop.time())
            return
        seen += arrived
        check = loop.call_later(window, check_rate, deadline)

    try:
        async with asyncio.timeout(settings.body_seconds) as deadline:
            check = loop.call_later(window, check_rate, deadline)
            try:
                yield
            finally:
                check.cancel()
    except TimeoutError:
        raise UploadTimeout("the request body did not arrive in time") from None
    except (web.RequestPayloadError, ConnectionError):
        raise InvalidRequest("the request body broke off") from None


async def _invite(request: web.Request) -> None:
    """Tell a client that waits for ``100 Continue`` to send its body: it is known and the size is right."""
    if request.get(EXPECTED):
        await request.writer.write(_CONTINUE)
        # The answer itself has not begun.
        request.writer.output_size = 0


def _refuse_encoding(request: web.Request) -> None:
    if request.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise UnsupportedMedia("a compressed request body is not accepted")


def _check_name(name: str) -> None:
    """400 for a parameter's name that no answer could repeat."""
    try:
        size = len(name.encode("utf-8"))
    except UnicodeEncodeError:
        raise InvalidRequest("a parameter's name is not valid Unicode") from None
    if size > _LONGEST_NAME:
        raise InvalidRequest("a parameter's name is too long")


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        _check_name(key)
        if key in result:
            raise InvalidRequest(f"parameter given twice: {key}", param=key)
        result[key] = value
    return result


def _no_constant(name: str) -> Any:
    raise InvalidRequest(f"{name} is not a JSON number")


def _check_depth(text: str) -> None:
    """Refuse deep nesting before the parser recurses into it; brackets in strings do not count."""
    depth = 0
    for bracket in _BRACKET.findall(_STRING.sub("", text)):
        depth += 1 if bracket in "[{" else -1
        if depth > _DEEPEST:
            raise InvalidRequest(f"the JSON is nested deeper than {_DEEPEST} levels")


def parse_json(data: bytes) -> dict[str, Any]:
    """A JSON object from bytes; null values are dropped, being the same as absent."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidRequest("the request body is not valid UTF-8") from None
    _check_depth(text)
    try:
        value = json.loads(text, object_pairs_hook=_no_duplicates, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise InvalidRequest("the request body is not valid JSON") from None
    if not isinstance(value, dict):
        raise InvalidRequest("the request body must be a JSON object")
    return {key: item for key, item in value.items() if item is not None}


async def read_object(request: web.Request, settings: Settings) -> bytes:
    """Read the bytes of a JSON body; 400 for a form, 408, 413, 415 as the settings say."""
    limit = settings.max_body_bytes
    _refuse_encoding(request)
    if request.content_type.startswith("multipart/"):
        raise InvalidRequest("this endpoint takes JSON, not multipart/form-data")
    if (request.content_length or 0) > limit:
        raise TooLarge(f"the request body is larger than {limit} bytes")
    data = bytearray()
    await _invite(request)
    async with _arrival(request, settings):
        async for chunk in request.content.iter_any():
            data += chunk
            if len(data) > limit:
                raise TooLarge(f"the request body is larger than {limit} bytes")
    request[CONTENT] = hashlib.sha256(data).digest()
    return bytes(data)


async def read_json(request: web.Request, settings: Settings) -> dict[str, Any]:
    """Read a JSON object; null values are dropped, being the same as absent."""
    return parse_json(await read_object(request, settings))


async def _read_part(part: BodyPartReader, limit: int, error: Exception, digest: "Digest") -> bytes:
    data = bytearray()
    while chunk := await part.read_chunk(256 * 1024):
        data += chunk
        digest.update(chunk)
        if len(data) > limit:
            raise error
    return bytes(data)


async def _read_text(part: BodyPartReader, name: str, digest: "Digest") -> str:
    data = await _read_part(part, _LONGEST_FIELD, InvalidRequest(f"{name} is too long", param=name), digest)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidRequest(f"{name} is not valid UTF-8", param=name) from None


async def _read_parts(reader: MultipartReader, file_field: str, limit: int, digest: "Digest") -> Form:
    form = Form()
    parts = 0
    async for part in reader:
        parts += 1
        if parts > _MOST_PARTS:
            raise InvalidRequest("the form has too many parts")
        if not isinstance(part, BodyPartReader) or not part.name:
            raise InvalidRequest("a part of the form has no name")
        _check_name(part.name)
        # Boundaries are made anew each time a form is sent; names and contents are what it says.
        digest.update(f"\n{part.name}\n".encode())
        if part.name == file_field:
            if form.file is not None:
                raise InvalidRequest(f"parameter given twice: {file_field}", param=file_field)
            too_large = TooLarge(f"{file_field} is larger than {limit // (1024 * 1024)} MB", param=file_field)
            form.file = await _read_part(part, limit, too_large, digest)
        elif part.filename is not None:
            raise InvalidRequest(f"{part.name} must be a text field, not a file", param=part.name)
        else:
            form.fields.append((part.name, await _read_text(part, part.name, digest)))
    return form


async def read_form(request: web.Request, settings: Settings, file_field: str, limit: int) -> Form:
    """Read multipart/form-data whose part ``file_field`` holds at most ``limit`` bytes."""
    _refuse_encoding(request)
    if request.content_type != "multipart/form-data":
        raise InvalidRequest("this endpoint takes multipart/form-data")
    if (request.content_length or 0) > limit + _FORM_OVERHEAD:
        raise TooLarge(f"{file_field} is larger than {limit // (1024 * 1024)} MB", param=file_field)
    await _invite(request)
    async with _arrival(request, settings):
        try:
            digest = hashlib.sha256()
            form = await _read_parts(await request.multipart(), file_field, limit, digest)
        except (HttpProcessingError, ValueError, AssertionError, LookupError, RuntimeError):
            # aiohttp raises all of these for malformed multipart.
            raise InvalidRequest("the multipart body is malformed") from None
    request[CONTENT] = digest.digest()
    return form
