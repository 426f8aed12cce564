"""Multipart bodies: text fields, and one file that goes into shared memory as it comes."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from aiohttp import web
from multipart import MultipartError, MultipartSegment, PushMultipartParser, parse_options_header

from frontend.config import Settings
from frontend.errors import ApiError, InvalidRequest, TooLarge
from frontend.http.arrival import CONTENT, in_time, invite, pieces, refuse_encoding
from frontend.http.held import Holding
from frontend.http.json import check_name
from frontend.shared_memory import SharedBytes

_LONGEST_FIELD = 64 * 1024
_LONGEST_BOUNDARY = 70
# What may stand before the content of the first part: an old kind of preamble, and its head.
_LONGEST_START = 64 * 1024
_MOST_PARTS = 64
_OVERHEAD = 1024 * 1024
_MALFORMED = "the multipart body is malformed"


@dataclass
class Form:
    """A multipart body: text fields in order, and the one file."""

    fields: list[tuple[str, str]] = field(default_factory=list)
    file: SharedBytes | None = None


def _parser(request: web.Request) -> PushMultipartParser:
    kind, options = parse_options_header(request.headers.get("Content-Type", ""))
    if kind != "multipart/form-data":
        raise InvalidRequest("this endpoint takes multipart/form-data")
    boundary = options.get("boundary", "")
    if not 0 < len(boundary) <= _LONGEST_BOUNDARY or not boundary.isascii():
        raise InvalidRequest(_MALFORMED)
    return PushMultipartParser(boundary, max_segment_count=_MOST_PARTS)


class _Reader:
    """Makes a form of a parser's events; ``digest`` is of what the form says, however it is cut into parts and pieces.

    Boundaries are made anew each time a form is sent, so they are left out. Every part counts with its kind, its name
    and its content, each with its length or as a digest, so that no two forms give the same bytes.
    """

    def __init__(self, file_field: str, limit: int, holding: Holding) -> None:
        self._file_field, self._limit, self._holding = file_field, limit, holding
        self._name = ""
        self._text: bytearray | None = None
        self._content = hashlib.sha256()
        self._size = 0
        self.form, self.digest = Form(), hashlib.sha256()

    def take(self, event: MultipartSegment | bytes | None) -> None:
        """The head of a part, some of its content, or its end."""
        if isinstance(event, MultipartSegment):
            self._begin(event)
        elif event is None:
            self._end()
        else:
            self._add(event)

    def _begin(self, part: MultipartSegment) -> None:
        if not part.name or (part.content_type or "").startswith("multipart/"):
            raise InvalidRequest("a part of the form has no name")
        check_name(part.name)
        self._name, self._content, self._size = part.name, hashlib.sha256(), 0
        if part.name != self._file_field:
            if part.filename is not None:
                raise InvalidRequest(f"{part.name} must be a text field, not a file", param=part.name)
            self._text = bytearray()
            return
        if self.form.file is not None:
            raise InvalidRequest(f"parameter given twice: {part.name}", param=part.name)
        self._text, self.form.file = None, SharedBytes()
        self._holding.closing.callback(self.form.file.close)

    def _add(self, content: bytes) -> None:
        self._size += len(content)
        self._content.update(content)
        if self._text is None:
            if self._size > self._limit:
                raise too_large(self._file_field, self._limit)
            assert self.form.file is not None
            self.form.file.write(content)
        else:
            if self._size > _LONGEST_FIELD:
                raise InvalidRequest(f"{self._name} is too long", param=self._name)
            self._text += content
        self._holding.add(len(content))

    def _end(self) -> None:
        kind = b"file" if self._text is None else b"text"
        name = self._name.encode("utf-8")
        self.digest.update(b"%s %d %d " % (kind, len(name), self._size) + name + self._content.digest())
        if self._text is not None:
            try:
                self.form.fields.append((self._name, self._text.decode("utf-8")))
            except UnicodeDecodeError:
                raise InvalidRequest(f"{self._name} is not valid UTF-8", param=self._name) from None


def too_large(file_field: str, limit: int) -> ApiError:
    """413 for a file over ``limit`` bytes."""
    return TooLarge(f"{file_field} is larger than {limit // (1024 * 1024)} MB", param=file_field)


async def _read(body: AsyncIterator[bytes], parser: PushMultipartParser, reader: _Reader) -> None:
    arrived, begun = 0, False
    async for piece in body:
        arrived += len(piece)
        for event in parser.parse(piece):
            if isinstance(event, MultipartSegment):
                begun = True
                # Heads can be made to take milliseconds: others go between two of them.
                await asyncio.sleep(0)
            reader.take(event)
        if not begun and arrived > _LONGEST_START:
            raise InvalidRequest(_MALFORMED)
    parser.close()


async def read_form(request: web.Request, settings: Settings, holding: Holding, file_field: str, limit: int) -> Form:
    """Read multipart/form-data whose part ``file_field`` holds at most ``limit`` bytes, which live as ``holding``."""
    refuse_encoding(request)
    parser, reader = _parser(request), _Reader(file_field, limit, holding)
    refusal = too_large(file_field, limit)
    if (request.content_length or 0) > limit + _OVERHEAD:
        raise refusal
    await invite(request)
    async with in_time(request, settings):
        try:
            await _read(pieces(request, limit + _OVERHEAD, refusal), parser, reader)
        except MultipartError:
            raise InvalidRequest(_MALFORMED) from None
    request[CONTENT] = reader.digest.digest()
    return reader.form
