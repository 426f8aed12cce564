"""What HTTP allows and the parser refuses: methods of any name, and tokens longer than it takes."""

import re

from aiohttp import HttpVersion11, hdrs
from aiohttp.http_parser import RawRequestMessage
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

# Those that routes have.
METHODS = ("GET", "HEAD", "POST", "PATCH", "DELETE")
_REQUEST_LINE = re.compile(rb"([!#-'*+.^_`|~0-9A-Za-z-]{1,64}) (/[!-~]*) HTTP/1\.[01]\r\n")
_LONG_TOKEN = re.compile(rb"\r\nauthorization:[^\r\n]{8000}", re.IGNORECASE)
# Nothing is given back once it was taken: the time would grow with the square of what a client sends.
_READ = re.compile(rb"\r\n(x-request-id|origin):[ \t]*+([^\r\n]*+)(?=\r\n)", re.IGNORECASE)


def _headers(head: bytes) -> CIMultiDict[str]:
    return CIMultiDict({name.decode(): value.decode("latin-1").rstrip() for name, value in _READ.findall(head)})


def page_of(head: bytes) -> tuple[str, str]:
    """The path that was asked for and the origin of the page that did, each empty where it cannot be told."""
    line = _REQUEST_LINE.match(head)
    return line[2].decode() if line is not None else "", _headers(head).get(hdrs.ORIGIN, "")


def synthesize_request(head: bytes) -> RawRequestMessage | None:
    """A request without body and token in the place of one that was refused, for the application to refuse.

    None where that would be for another reason than an unknown method or a long token.
    """
    line = _REQUEST_LINE.match(head)
    if line is None or (line[1].decode() in METHODS and not _LONG_TOKEN.search(head)):
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
