"""When an answer that is being sent is charged, and when it is free."""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import ClientError

from frontend.app_keys import CHARGES
from frontend.billing.charges import Spool
from frontend.config.settings import Settings
from frontend.http import answers
from frontend.http import connection as connections
from tests.charges import COST, ORG_KEY, Books, charges, find_disk_full, speak
from tests.conftest import Client
from tests.eventually import until
from tests.fakes import FakeTriton
from tests.http.calls import EMBED, SPOKEN, logged, runner_of, speak_long
from tests.raw import answer as read_answer
from tests.raw import connection, head, post


async def test_a_caller_that_disconnects_before_the_answer_is_not_charged(
    client: Client, settings: Settings, triton: FakeTriton
) -> None:
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
    speak_long(triton)
    async with connection(client.port) as (reader, writer):
        writer.write(SPOKEN)
        await reader.readexactly(1_000)
        yield


async def test_a_caller_that_disconnects_during_an_answer_pays(
    client: Client, settings: Settings, triton: FakeTriton, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "quartet")
    async with _half_read(client, triton):
        pass
    # An end of the frontend before it knows would be its own.
    await until(lambda: logged(caplog))
    (row,) = await charges(client, settings)
    assert row["amount"] == COST


async def test_an_answer_that_we_break_off_is_free(client: Client, settings: Settings, triton: FakeTriton) -> None:
    async with _half_read(client, triton):
        runner_of(client).hurry()
        assert await charges(client, settings) == []


async def test_an_answer_that_cannot_be_charged_breaks_off(
    client: Client, books: Books, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    await books.top_up("acme", COST)
    with monkeypatch.context() as patched:
        patched.setattr(Spool, "add", find_disk_full)
        with pytest.raises(ClientError):
            await speak(client, key=ORG_KEY)
    assert "unforeseen" not in caplog.text
    await client.app[CHARGES]._check()
    assert (await speak(client, key=ORG_KEY))[0] == 200


@pytest.mark.parametrize(
    "asked",
    [
        head("GET", "/v1/models"),
        head("GET", "/v1/nothing"),
        post(EMBED, b'{"input": "a"}'),
        post(EMBED, b'{"input": ["a", "b", "c"], "encoding_format": "base64"}'),
        post(EMBED, b'{"input": 1}'),
        post("/v1/rerank", b'{"query": "a", "documents": ["b"]}'),
        head("GET", "/v1/models", key="wrong"),
        head("GET", "/dashboard/data/account"),
    ],
    ids=["models", "no path", "numbers", "base64", "a refusal", "rerank", "a wrong key", "an account"],
)
async def test_an_answer_that_fits_leaves_in_one_write(
    client: Client, asked: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    writes: list[int] = []
    made = connections.Connection.connection_made

    def connection_made(self: connections.Connection, transport: Any) -> None:
        transport.set_write_buffer_limits(0)
        for name in ("write", "writelines"):
            send = getattr(transport, name)

            def note(data: Any, send: Any = send, name: str = name) -> None:
                # asyncio's writelines calls write once.
                writes.extend([len(data)] * (name == "write"))
                send(data)

            setattr(transport, name, note)
        made(self, transport)

    monkeypatch.setattr(connections.Connection, "connection_made", connection_made)
    async with connection(client.port) as (reader, writer):
        for _ in range(3):
            writes.clear()
            writer.write(asked)
            answer = await read_answer(reader)
            assert answer.body
            assert len(writes) == 1


async def test_an_answer_at_the_bound_of_a_piece_arrives_whole(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    async def ask() -> bytes:
        async with asyncio.timeout(10), client.post(EMBED, json={"input": "a"}) as answer:
            return await answer.read()

    whole = await ask()
    for piece in (len(whole) - 1, len(whole), len(whole) + 1, len(whole) // 2):
        monkeypatch.setattr(answers, "PIECE", piece)
        assert await ask() == whole


async def test_an_answer_to_head_has_the_length_and_no_body(client: Client) -> None:
    async with connection(client.port) as (reader, writer):
        writer.write(head("HEAD", "/v1/models") + head("GET", "/v1/models"))
        first, second = await reader.readuntil(b"\r\n\r\n"), await reader.readuntil(b"\r\n\r\n")
        of_first, of_second = (
            [line for line in each.split(b"\r\n") if line.lower().startswith((b"content-", b"http/"))]
            for each in (first, second)
        )
        assert of_first == of_second
