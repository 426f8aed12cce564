"""What tests send bytes with ends when they leave it, and hides nothing of what happened within."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.raw import connection


@asynccontextmanager
async def _serving(*, resets: bool) -> AsyncIterator[int]:
    """A server that never reads; it may break connections off as soon as something has come."""

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if resets:
            await reader.read(1)
            # To linger for no time is to reset.
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
            return
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        await ended.wait()
        writer.transport.abort()

    ended = asyncio.Event()
    async with await asyncio.start_server(take, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]
        ended.set()


async def test_a_connection_has_ended_when_it_is_left_though_nobody_reads() -> None:
    async with _serving(resets=False) as port:
        async with connection(port) as (_, writer):
            writer.write(bytes(50_000_000))
        assert writer.get_extra_info("socket").fileno() == -1


async def _read(port: int) -> bytes:
    async with connection(port) as (reader, writer):
        writer.write(b"x")
        return await reader.read()


async def test_a_connection_that_is_reset_is_told_of() -> None:
    async with _serving(resets=True) as port:
        with pytest.raises(ConnectionResetError):
            await _read(port)
