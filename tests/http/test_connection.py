"""Bounds of connections: how many, how long, and how much of one at a time."""

import asyncio
import fcntl
import json
import logging
import socket
import struct
import termios
import time
from pathlib import Path

import pytest
from aiohttp import web

from frontend.app_keys import MEMORY_BUDGET
from frontend.http import connection as connections
from tests.conftest import Client
from tests.eventually import until
from tests.fakes import FakeTriton
from tests.http.calls import EMBED, LONG, SPOKEN, runner_of, speak_long
from tests.raw import answer as read_answer
from tests.raw import ask, connection, head

pytestmark = pytest.mark.settings(connections=6, connections_per_address=4, write_seconds=1.0)


async def test_connections_over_the_bound_of_an_address_are_refused(client: Client) -> None:
    port = client.server.port
    async with connection(port), connection(port), connection(port), connection(port), connection(port) as (reader, _):
        refusal = await read_answer(reader)
        assert (refusal.status, refusal.error["type"]) == (502, "bad_gateway")
        assert int(refusal.headers["retry-after"]) >= 1
        assert await reader.read() == b""


async def test_a_connection_over_a_unix_socket_is_not_counted_after_its_end(client: Client, tmp_path: Path) -> None:
    await web.UnixSite(runner_of(client), tmp_path / "socket").start()
    for _ in range(10):
        reader, writer = await asyncio.open_unix_connection(tmp_path / "socket")
        writer.write(head("GET", "/v1/models"))
        assert (await read_answer(reader)).status == 200
        writer.close()
        await writer.wait_closed()
        await asyncio.sleep(0.01)
    assert (await ask(client.server.port, head("GET", "/v1/models"))).status == 200


async def _send_on(writer: asyncio.StreamWriter) -> None:
    """More of a body, until the connection is gone."""
    while True:
        writer.write(b"4\r\nmore\r\n")
        await writer.drain()
        await asyncio.sleep(0.02)


async def test_an_endless_body_that_no_handler_reads_is_cut_off(client: Client) -> None:
    async with connection(client.server.port) as (reader, writer):
        writer.write(b"GET /health/live HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        assert (await read_answer(reader)).status == 200
        started = time.monotonic()
        with pytest.raises(ConnectionError):
            await _send_on(writer)
        assert time.monotonic() - started < 15


async def test_a_caller_that_leaves_while_its_refused_body_arrives_is_no_error(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    async with connection(client.server.port) as (reader, writer):
        writer.write(head("POST", EMBED, "Content-Length: 1000000", key="wrong") + b"a" * 10_000)
        assert (await read_answer(reader)).status == 401
    await asyncio.sleep(0.1)
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


def _held(client: Client) -> int:
    return client.app[MEMORY_BUDGET]._total


async def test_an_answer_that_nobody_reads_is_given_up_with_its_connection(client: Client, triton: FakeTriton) -> None:
    speak_long(triton)
    async with connection(client.server.port) as (_, writer):
        writer.write(SPOKEN)
        await until(lambda: _held(client) > 1_000_000)
        started = time.monotonic()
        await until(lambda: _held(client) == 0)
        assert time.monotonic() - started > 0.5


async def test_an_answer_that_is_read_slowly_arrives_whole(client: Client, triton: FakeTriton) -> None:
    speak_long(triton)
    async with connection(client.server.port) as (reader, writer):
        writer.write(SPOKEN)
        await reader.readuntil(b"\r\n\r\n")
        left = 2 * LONG.size + 44
        while left:
            left -= len(await reader.read(200_000))
            await asyncio.sleep(0.02)


@pytest.mark.settings(min_answer_rate=100_000_000, write_seconds=2.0)
async def test_an_answer_that_is_read_too_slowly_is_broken_off(client: Client, triton: FakeTriton) -> None:
    speak_long(triton)
    async with connection(client.server.port) as (reader, writer):
        writer.write(SPOKEN)
        assert await _seconds_until_broken_off(client, reader, 20_000, 0.05) > 1


@pytest.mark.settings(min_answer_rate=400_000, write_seconds=1.0)
async def test_a_rate_below_the_least_is_noticed_long_before_the_time_for_the_whole(
    client: Client, triton: FakeTriton
) -> None:
    speak_long(triton)
    async with connection(client.server.port) as (reader, writer):
        writer.write(SPOKEN)
        # The whole may take 46 s. This rate is a third of the least.
        assert 0.5 < await _seconds_until_broken_off(client, reader, 13_000, 0.1) < 10


async def _seconds_until_broken_off(client: Client, reader: asyncio.StreamReader, size: int, pause: float) -> float:
    """Read so many bytes of a long answer after each pause."""
    await until(lambda: _held(client) > 1_000_000)
    started = time.monotonic()
    while _held(client):
        await reader.read(size)
        await asyncio.sleep(pause)
    return time.monotonic() - started


def _unsent(sending: socket.socket) -> int:
    """Bytes that the kernel keeps for the reader."""
    (count,) = struct.unpack("i", fcntl.ioctl(sending.fileno(), termios.TIOCOUTQ, bytes(4)))
    return int(count)


async def test_little_of_an_answer_that_nobody_reads_is_in_the_kernel(client: Client, triton: FakeTriton) -> None:
    speak_long(triton)
    server = runner_of(client).server
    assert server is not None
    async with connection(client.server.port) as (_, writer):
        writer.write(SPOKEN)
        await until(lambda: _held(client) > 1_000_000)
        (served,) = server.connections
        assert served.transport is not None
        sending = served.transport.get_extra_info("socket")
        # What the reader's kernel takes is none of ours.
        await until(lambda: _unsent(sending) > 0)
        await asyncio.sleep(0.2)
        # The kernel counts what surrounds the bytes, too.
        assert sending.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) == 2 * connections._UNREAD_ANSWER_BYTES
        assert 0 < _unsent(sending) < 4 * connections._UNREAD_ANSWER_BYTES


async def test_pipelined_requests_are_answered_in_order(client: Client) -> None:
    async with connection(client.server.port) as (reader, writer):
        writer.write(b"".join(head("GET", "/v1/models", f"X-Request-Id: n{number}") for number in range(500)))
        for number in range(500):
            assert (await read_answer(reader)).headers["x-request-id"] == f"n{number}"


async def test_a_body_in_chunks_of_a_byte_is_read_as_any_other(client: Client) -> None:
    text = json.dumps({"input": "word " * 3000}).encode()
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in text)
    async with connection(client.server.port) as (reader, writer):
        writer.write(head("POST", EMBED, "Transfer-Encoding: chunked") + chunks + b"0\r\n\r\n")
        writer.write(head("GET", "/v1/models"))
        assert (await read_answer(reader)).status == 200
        assert (await read_answer(reader)).status == 200
