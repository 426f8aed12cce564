"""What callers fill counts against the memory for requests, from its first bytes to its last (docs/memory.md)."""

import asyncio

from prometheus_client import REGISTRY

from frontend.app_keys import MEMORY_BUDGET
from frontend.operations.speech.pipeline import BYTES_PER_CHARACTER
from tests.conftest import Client
from tests.eventually import until
from tests.fakes import FakeTriton
from tests.http.calls import EMBED, SPEAK
from tests.raw import ask, connection, head
from tests.speech import TRANSCRIBE, encode, say, transcribe

_FORM = "Content-Type: multipart/form-data; boundary=x"
_PART = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\n\r\n'


def _held(client: Client) -> int:
    return client.app[MEMORY_BUDGET]._total


async def test_a_json_body_counts_while_it_arrives(client: Client) -> None:
    async with connection(client.server.port) as (_, writer):
        writer.write(head("POST", EMBED, "Content-Length: 1000000") + b'{"input": "' + b"a" * 500_000)
        # A text may take four bytes a character, besides its own.
        await until(lambda: _held(client) >= 5 * 500_000)
    await until(lambda: not _held(client))


async def test_an_upload_counts_while_it_arrives(client: Client) -> None:
    async with connection(client.server.port) as (_, writer):
        writer.write(head("POST", TRANSCRIBE, _FORM, "Content-Length: 1000000") + _PART + bytes(500_000))
        await until(lambda: _held(client) >= 490_000)
    await until(lambda: not _held(client))


async def test_decoded_speech_counts_until_the_answer(client: Client, triton: FakeTriton) -> None:
    speech, going = say("Good morning everybody."), asyncio.Event()
    # Much smaller than its samples.
    file = encode(speech, "ogg-opus")
    triton.wait = going.wait
    asking = asyncio.create_task(transcribe(client, file))
    await until(lambda: bool(triton.calls), 60)
    assert _held(client) > len(file) + len(speech)
    going.set()
    assert (await asking).status == 200
    await until(lambda: not _held(client))


async def test_vectors_count_before_they_are_made(client: Client, triton: FakeTriton) -> None:
    going = asyncio.Event()
    triton.wait = going.wait
    asking = asyncio.create_task(client.post(EMBED, json={"input": ["a"] * 10}))
    await until(lambda: bool(triton.calls), 60)
    assert _held(client) >= 10 * 1024 * 4
    going.set()
    assert (await asking).status == 200


async def test_speech_counts_before_it_is_spoken(client: Client, triton: FakeTriton) -> None:
    text, going = "Hello there.", asyncio.Event()
    triton.wait = going.wait
    asking = asyncio.create_task(client.post(SPEAK, json={"input": text, "voice": "ryan"}))
    await until(lambda: bool(triton.calls), 60)
    assert _held(client) >= BYTES_PER_CHARACTER * len(text)
    going.set()
    assert (await asking).status == 200
    await until(lambda: not _held(client))


async def test_callers_make_no_series_of_metrics(client: Client) -> None:
    async def call(name: str) -> int:
        """Ask in every way with a name of the caller's; return the number of series."""
        await client.get(f"/v1/models/{name}", headers={"X-Request-Id": name})
        await client.get(f"/{name}", headers={"Authorization": f"Bearer {name}"})
        await client.post(EMBED, json={"model": name, "input": name, "user": name})
        await ask(client.server.port, head(name.upper(), EMBED))
        return sum(len(metric.samples) for metric in REGISTRY.collect())

    assert await call("first") == await call("second") == await call("third")
