"""Requests that the parser refuses: why, and those that the application answers, with other names of methods."""

import re

from aiohttp import HttpVersion11, hdrs
from aiohttp.http_exceptions import LineTooLong
from aiohttp.http_parser import RawRequestMessage
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

# Most bytes of a request line or of a header: 16 KiB, as peers take, and its name.
LONGEST_LINE = 17 * 1024
# Most bytes of all headers. They are kept for inspection if the parser refuses them.
LONGEST_HEAD = 64 * 1024
NOT_HTTP = "the request is not valid HTTP"
# Methods with routes.
_METHODS = ("GET", "HEAD", "POST", "PATCH", "DELETE")
_REQUEST_LINE = re.compile(rb"([!#-'*+.^_`|~0-9A-Za-z-]{1,64}) (/[!-~]*) HTTP/1\.[01]\r\n")
# Possessive quantifiers: backtracking would take time quadratic in the client's input.
_READ = re.compile(rb"\r\n(x-request-id|origin):[ \t]*+([^\r\n]*+)(?=\r\n)", re.IGNORECASE)


def _headers(head: bytes) -> CIMultiDict[str]:
    return CIMultiDict({name.decode(): value.decode("latin-1").rstrip() for name, value in _READ.findall(head)})


def fault_of(error: object, head: bytes, size: int) -> str:
    """Why the parser refused a request with this start after ``size`` bytes."""
    if not 0 <= head.find(b"\r\n") <= LONGEST_LINE and isinstance(error, LineTooLong):
        return "the address is too long"
    large = isinstance(error, LineTooLong) or "Too many headers" in str(error) or size >= LONGEST_HEAD
    return "the headers are too large" if large else NOT_HTTP


def page_of(head: bytes) -> tuple[str, str]:
    """The requested path and the page's origin; empty if unknown."""
    line = _REQUEST_LINE.match(head)
    return line[2].decode() if line is not None else "", _headers(head).get(hdrs.ORIGIN, "")


def synthesize_request(head: bytes) -> RawRequestMessage | None:
    """A request without body and token that replaces a refused one, so that the application refuses it.

    None unless the method is unknown.
    """
    line = _REQUEST_LINE.match(head)
    if line is None or line[1].decode() in _METHODS:
        return None
    headers = _headers(head)
    path, _, query = line[2].decode().partition("#")[0].partition("?")
    return RawRequestMessage(
        method=line[1].decode(),
        path=line[2].decode(),
        version=HttpVersion11,
        headers=CIMultiDictProxy(headers),
        raw_headers=(),
        should_close=True,
        compression=None,
        upgrade=False,
        chunked=False,
        url=URL.build(path=path, query_string=query, encoded=True),
    )
