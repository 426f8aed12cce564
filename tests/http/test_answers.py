"""When an answer on its way out is charged, and for whom it is free."""

import asyncio
import logging
import socket
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest
from aiohttp import ClientError

from frontend.app_keys import RECORDER
from frontend.config.settings import Settings
from frontend.http import connection as connections
from frontend.http.runner import Runner
from frontend.usage.queries import UsageQueries
from frontend.usage.spool import Spool
from tests.charges import COST, ORG_KEY, charges, speak
from tests.conftest import Client
from tests.eventually import until
from tests.fakes import FakeTriton
from tests.raw import connection, post

SPOKEN = post("/v1/audio/speech", b'{"input": "Hello there.", "voice": "amy"}')


async def test_a_caller_who_hangs_up_before_the_answer_is_not_charged(
    client: Client, settings: Settings, triton: FakeTriton, monkeypatch: pytest.MonkeyPatch
) -> None:
    # This one is quick: it is not to be taken for a caller who only writes no more.
    monkeypatch.setattr(connections, "_HALF_CLOSE_SECONDS", 0.0)
    answering = asyncio.Event()
    triton.spoil = lambda arrays: answering.set() or arrays  # type: ignore[func-returns-value]
    with socket.create_connection(("127.0.0.1", client.port or 0)) as caller:
        caller.setblocking(False)
        await asyncio.get_running_loop().sock_sendall(caller, SPOKEN)
        await answering.wait()
    assert await charges(client, settings) == []


@asynccontextmanager
async def _half_read(client: Client, triton: FakeTriton) -> AsyncIterator[None]:
    """An answer of minutes, of which a caller has read some and goes on reading nothing."""
    triton.spoil = lambda arrays: {"output": np.ones((1, 1, 1, 22_050 * 420), np.float32)}
    async with connection(client.port) as (reader, writer):
        writer.write(SPOKEN)
        await reader.readexactly(1_000)
        yield


async def test_a_caller_who_hangs_up_in_the_middle_of_an_answer_pays(
    client: Client, settings: Settings, triton: FakeTriton, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "quartet")
    async with _half_read(client, triton):
        pass
    # An end of the frontend before it knows would be its own.
    await until(lambda: any(record.message == "request" for record in caplog.records))
    (row,) = await charges(client, settings)
    assert row["amount"] == COST


async def test_an_answer_that_we_break_off_is_free(client: Client, settings: Settings, triton: FakeTriton) -> None:
    async with _half_read(client, triton):
        assert isinstance(client.server.runner, Runner)
        client.server.runner.hurry()
        assert await charges(client, settings) == []


async def test_an_answer_that_cannot_be_charged_breaks_off(
    client: Client, books: UsageQueries, monkeypatch: pytest.MonkeyPatch, triton: FakeTriton
) -> None:
    await books.top_up("acme", COST, None)

    def full(*arguments: Any) -> bool:
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(Spool, "add", full)
        with pytest.raises(ClientError):
            await speak(client, key=ORG_KEY)
    await client.app[RECORDER]._check()
    assert (await speak(client, key=ORG_KEY))[0] == 200
