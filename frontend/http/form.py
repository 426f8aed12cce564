"""Multipart bodies: text fields, and one file that is written to shared memory as it arrives."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Collection
from dataclasses import dataclass, field

from aiohttp import web
from multipart import MultipartSegment, ParserError, ParserLimitReached, PushMultipartParser, parse_options_header

from frontend.billing.bill import CONTENT
from frontend.catalogue.models import Served
from frontend.config.settings import Settings
from frontend.errors import ApiError, InvalidRequest, TooLarge
from frontend.http.arrival import receive_body, refuse_encoding
from frontend.http.memory import MemoryReservation
from frontend.parameters.forms import FormTable
from frontend.parameters.table import check_name, refuse_unknown
from frontend.processes.shared_memory import SharedBytes

_LONGEST_FIELD = 64 * 1024  # bytes
_LONGEST_BOUNDARY = 70  # characters, by RFC 2046
# Most bytes before the content of the first part: a preamble and the part's head.
_LONGEST_START = 64 * 1024
_MOST_PARTS = 64
_OVERHEAD = 1024 * 1024  # most bytes of a body in addition to the file
_ANY_BYTES = "latin-1"
_MALFORMED = "the multipart body is malformed"


@dataclass(frozen=True)
class Shape:
    """The text fields that a form may have, and the largest file in bytes."""

    file_field: str
    text_fields: Collection[str]
    largest_file: int

    @classmethod
    def of(cls, table: FormTable, served: Served) -> "Shape":
        return cls(table.file.name, table.text_fields(served), table.file.largest)

    def too_large(self) -> ApiError:
        megabytes = self.largest_file // (1024 * 1024)
        return TooLarge(f"{self.file_field} is larger than {megabytes} MB", param=self.file_field)


@dataclass
class Form:
    """A parsed multipart body: text fields in order, and the one file."""

    fields: list[tuple[str, str]] = field(default_factory=list)
    file: SharedBytes | None = None


class _Parser(PushMultipartParser):  # type: ignore[misc]
    """Accepts part heads as HTTP's grammar defines them: any bytes in a file name, and tabs as blanks."""

    def _on_segment_headerline(self, line: bytes) -> None:
        # It refuses a line's end that stands alone only if the rest of the line has not arrived yet.
        if b"\n" in line:
            raise ParserError(_MALFORMED)
        super()._on_segment_headerline(line)

    def _create_segment(self, headerlist: list[tuple[str, str]]) -> MultipartSegment:
        return super()._create_segment([(name, value.replace("\t", " ")) for name, value in headerlist])


def _parser(request: web.Request) -> _Parser:
    kind, options = parse_options_header(request.headers.get("Content-Type", ""))
    if kind != "multipart/form-data":
        raise InvalidRequest("this endpoint takes multipart/form-data")
    boundary = options.get("boundary", "")
    if not 0 < len(boundary) <= _LONGEST_BOUNDARY or not boundary.isascii():
        raise InvalidRequest(_MALFORMED)
    return _Parser(boundary, max_segment_count=_MOST_PARTS, header_charset=_ANY_BYTES)


class _Reader:
    """Builds a form from parser events.

    ``digest`` identifies the content of the form, however it is split into pieces. It excludes boundaries, which
    clients generate again for each attempt. Each part adds its kind, name and content, with lengths or as digests, so
    that different forms have different digests.
    """

    def __init__(self, shape: Shape, memory: MemoryReservation) -> None:
        self._shape, self._memory = shape, memory
        self._text: bytearray | None = None
        self.form, self.digest = Form(), hashlib.sha256()

    def begin(self, part: MultipartSegment) -> None:
        """Handle the head of a part."""
        if not part.name or (part.content_type or "").startswith("multipart/"):
            raise InvalidRequest("a part of the form has no name")
        self._name, self._content, self._size = _decoded(part.name), hashlib.sha256(), 0
        if self._name != self._shape.file_field:
            refuse_unknown([self._name], self._shape.text_fields)
            if part.filename is not None:
                raise InvalidRequest(f"{self._name} must be a text field, not a file", param=self._name)
            self._text = bytearray()
            return
        if self.form.file is not None:
            raise InvalidRequest(f"parameter given twice: {self._name}", param=self._name)
        self._text, self.form.file = None, SharedBytes()
        self._memory.closing.callback(self.form.file.close)

    def add(self, content: bytes) -> None:
        """Handle content of the current part."""
        self._size += len(content)
        self._content.update(content)
        if self._text is None:
            if self._size > self._shape.largest_file:
                raise self._shape.too_large()
            assert self.form.file is not None
            self.form.file.write(content)
        else:
            if self._size > _LONGEST_FIELD:
                raise InvalidRequest(f"{self._name} is too long", param=self._name)
            self._text += content
        self._memory.add(len(content))

    def end(self) -> None:
        """Handle the end of a part."""
        kind = b"file" if self._text is None else b"text"
        name = self._name.encode("utf-8")
        self.digest.update(b"%s %d %d " % (kind, len(name), self._size) + name + self._content.digest())
        if self._text is not None:
            try:
                self.form.fields.append((self._name, self._text.decode("utf-8")))
            except UnicodeDecodeError:
                raise InvalidRequest(f"{self._name} is not valid UTF-8", param=self._name) from None


def _decoded(name: str) -> str:
    try:
        decoded = name.encode(_ANY_BYTES).decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidRequest("a parameter's name is not valid Unicode") from None
    check_name(decoded)
    return decoded


async def _read(body: AsyncIterator[bytes], parser: _Parser, reader: _Reader) -> None:
    arrived, begun = 0, False
    async for piece in body:
        arrived += len(piece)
        for event in parser.parse(piece):
            if isinstance(event, MultipartSegment):
                begun = True
                # Some heads take milliseconds to parse. Yield between two of them.
                await asyncio.sleep(0)
                reader.begin(event)
            elif event is None:
                reader.end()
            else:
                reader.add(event)
        if not begun and arrived > _LONGEST_START:
            raise InvalidRequest(_MALFORMED)
    parser.close()


async def read_form(request: web.Request, settings: Settings, memory: MemoryReservation, shape: Shape) -> Form:
    """Read multipart/form-data. The file's bytes live as long as ``memory``."""
    refuse_encoding(request)
    parser, reader = _parser(request), _Reader(shape, memory)
    async with receive_body(request, settings, shape.largest_file + _OVERHEAD, shape.too_large()) as pieces:
        try:
            await _read(pieces, parser, reader)
        except (ParserError, ParserLimitReached):
            raise InvalidRequest(_MALFORMED) from None
    request[CONTENT] = reader.digest.digest()
    return reader.form
