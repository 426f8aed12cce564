"""A caller who leaves is in the log and in the metrics, whenever it does."""

import asyncio
import logging

import numpy as np
import pytest

from frontend.http import connection as connections
from tests.conftest import Client
from tests.eventually import until
from tests.fakes import FakeTriton
from tests.raw import connection, head, post

EMBED, SPEECH = "/v1/embeddings", "/v1/audio/speech"
_TEXT = b'{"input": "hello"}'
_SPOKEN = b'{"input": "hello", "voice": "amy"}'


def _statuses(caplog: pytest.LogCaptureFixture) -> list[int]:
    return [record.fields["status"] for record in caplog.records if record.message == "request"]  # type: ignore[attr-defined]


async def _noted(client: Client, caplog: pytest.LogCaptureFixture, path: str) -> None:
    """One line in the log, and one request in the metrics, both with status 499."""
    await until(lambda: bool(_statuses(caplog)))
    assert _statuses(caplog) == [499]
    text = await (await client.get("/metrics")).text()
    assert f'quartet_request_seconds_count{{method="POST",route="{path}",status="499"}}' in text


@pytest.fixture(autouse=True)
def _log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "quartet")


async def test_who_leaves_while_the_model_works_is_noted(
    client: Client, triton: FakeTriton, caplog: pytest.LogCaptureFixture
) -> None:
    triton.wait = asyncio.Event().wait
    async with connection(client.server.port) as (_, writer):
        writer.write(post(EMBED, _TEXT))
        await until(lambda: bool(triton.calls))
        # Who ends at once what it sends may only want to say that there is no more to come.
        await asyncio.sleep(2 * connections._HALF_CLOSE_SECONDS)
    await _noted(client, caplog, EMBED)


async def test_who_leaves_in_the_middle_of_its_body_is_noted(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    async with connection(client.server.port) as (_, writer):
        writer.write(head("POST", EMBED, "Content-Length: 100") + _TEXT)
        await writer.drain()
        await asyncio.sleep(0.1)
    await _noted(client, caplog, EMBED)


async def test_who_leaves_in_the_middle_of_its_answer_is_noted(
    client: Client, triton: FakeTriton, caplog: pytest.LogCaptureFixture
) -> None:
    # More sound than the kernel's buffers take: seven minutes.
    triton.spoil = lambda arrays: {"output": np.ones((1, 1, 1, 22_050 * 420), np.float32)}
    async with connection(client.server.port) as (reader, writer):
        writer.write(post(SPEECH, _SPOKEN))
        await reader.readuntil(b"\r\n\r\n")
        writer.transport.abort()
    await _noted(client, caplog, SPEECH)


async def test_who_leaves_after_its_answer_has_had_it(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    await client.post(EMBED, data=_TEXT)
    assert _statuses(caplog) == [200]
