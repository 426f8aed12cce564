"""What a key has open ends when it is revoked."""

import asyncio
from collections.abc import Callable

import aiohttp
import pytest

from frontend.access import open_keys
from frontend.access.caller import Caller
from frontend.access.known_keys import KnownKeys
from frontend.config.settings import Settings
from frontend.errors import BadGateway, Unauthorized
from tests.charges import charges
from tests.conftest import Client
from tests.eventually import until
from tests.fakes import FakeTriton
from tests.http.calls import EMBED
from tests.upstream import PATH, Upstream, chat


@pytest.fixture
def settings(settings: Settings, upstream: Upstream) -> Settings:
    return upstream.serves(settings)


@pytest.fixture
def revoke(monkeypatch: pytest.MonkeyPatch) -> Callable[[Exception], None]:
    """Let no key be known, for this reason."""
    monkeypatch.setattr(open_keys, "_LOOK_SECONDS", 0.05)

    def revoke(failure: Exception) -> None:
        async def identify(self: KnownKeys, key: str) -> Caller:
            raise failure

        monkeypatch.setattr(KnownKeys, "identify", identify)

    return revoke


async def test_a_stream_breaks_off_and_what_was_received_is_charged(
    client: Client, settings: Settings, upstream: Upstream, revoke: Callable[[Exception], None]
) -> None:
    async with client.post(PATH, json=chat("a b c wait", stream=True)) as response:
        assert b"you" in await response.content.readany()
        revoke(Unauthorized("revoked"))
        async with asyncio.timeout(5):
            with pytest.raises(aiohttp.ClientPayloadError):
                await response.read()
    await asyncio.wait_for(upstream.cancelled.wait(), 5)
    assert len(await charges(client, settings)) == 1


async def test_a_request_without_an_answer_is_refused_and_free(
    client: Client, settings: Settings, triton: FakeTriton, revoke: Callable[[Exception], None]
) -> None:
    triton.wait = asyncio.Event().wait
    waiting = asyncio.create_task(client.post(EMBED, json={"input": "a"}))
    await until(lambda: bool(triton.calls))
    revoke(Unauthorized("revoked"))
    async with asyncio.timeout(5):
        response = await waiting
    assert (response.status, (await response.json())["error"]["type"]) == (401, "invalid_api_key")
    assert response.headers["X-Request-Id"]
    assert await charges(client, settings) == []


async def test_an_outage_of_the_database_ends_nothing(
    client: Client, triton: FakeTriton, revoke: Callable[[Exception], None]
) -> None:
    answered = asyncio.Event()
    triton.wait = answered.wait
    waiting = asyncio.create_task(client.post(EMBED, json={"input": "a"}))
    await until(lambda: bool(triton.calls))
    revoke(BadGateway("away"))
    await asyncio.sleep(0.4)
    answered.set()
    assert (await waiting).status == 200


async def test_the_next_request_of_a_connection_is_not_watched_by_the_last_one(
    client: Client, triton: FakeTriton, revoke: Callable[[Exception], None], mobile: dict[str, str]
) -> None:
    triton.wait = lambda: asyncio.sleep(0.2)
    for _ in range(3):
        assert (await client.post(EMBED, json={"input": "a"})).status == 200
    revoke(Unauthorized("revoked"))
    # Only a key is looked at.
    assert (await client.get("/health/live")).status == 200
    spoken = {"text": "Good morning.", "voice": "amy"}
    assert (await client.post("/api/v1/audio/synthesize", json=spoken, headers=mobile)).status == 200
    assert (await client.post(EMBED, json={"input": "a"})).status == 401
