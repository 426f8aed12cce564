"""HTTP as bytes over a socket, for requests that no client library sends."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

from tests.conftest import KEY


@dataclass
class Answer:
    """An answer; ``continued`` says whether ``100 Continue`` came first."""

    status: int
    headers: dict[str, str]
    body: bytes
    continued: bool = False

    @property
    def error(self) -> dict[str, Any]:
        error: dict[str, Any] = json.loads(self.body)["error"]
        return error


@asynccontextmanager
async def connection(port: int | None) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A plain connection to a server on this machine."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield reader, writer
    finally:
        # Drop unsent bytes and errors, but wait until the transport is closed.
        writer.transport.abort()
        with suppress(OSError):
            await writer.wait_closed()


def head(method: str, path: str, *lines: str, key: str = KEY) -> bytes:
    """The head of a request with a key."""
    return "\r\n".join(
        [f"{method} {path} HTTP/1.1", "Host: x", f"Authorization: Bearer {key}", *lines, "", ""]
    ).encode()


def post(path: str, body: bytes, *lines: str, key: str = KEY) -> bytes:
    """A whole request with a body."""
    return head("POST", path, f"Content-Length: {len(body)}", *lines, key=key) + body


async def answer(reader: asyncio.StreamReader) -> Answer:
    """Read one answer."""
    status, headers = await _read_head(reader)
    continued = status == 100
    if continued:
        status, headers = await _read_head(reader)
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Answer(status, headers, body, continued)


async def _read_head(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    lines = (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 20)).decode("latin-1").split("\r\n")
    pairs = (line.split(": ", 1) for line in lines[1:] if line)
    return int(lines[0].split()[1]), {name.lower(): value for name, value in pairs}


async def ask(port: int | None, data: bytes) -> Answer:
    """Send bytes, read one answer."""
    async with connection(port) as (reader, writer):
        writer.write(data)
        return await answer(reader)
