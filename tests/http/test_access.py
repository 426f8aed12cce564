"""How callers prove who they are, what wrong keys cost, and rate limits."""

import asyncio
import dataclasses
import json
import time
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519

from frontend.access import api_key
from frontend.config.settings import Settings
from frontend.database.engine import open_engine
from frontend.database.migrate import migrate
from tests.charges import other_key
from tests.clocks import LimitsClock
from tests.conftest import KEY, Client, bearer, running
from tests.databases import PostgresServer
from tests.fakes import FakeTriton, add_key
from tests.http.calls import EMBED, status_of

VOICES = "/api/v1/audio/voices"


def _claims(settings: Settings, **times: int) -> dict[str, Any]:
    return {"sub": "a", "aud": settings.jwt_audience, "iss": settings.jwt_issuer, **times}


async def test_keys_may_live_in_postgres(settings: Settings, postgres: PostgresServer) -> None:
    address = postgres.new_database()
    engine = open_engine(address)
    await migrate(engine)
    await add_key(engine, KEY)
    await engine.dispose()
    async with running(dataclasses.replace(settings, database=address), FakeTriton()) as client:
        assert [await status_of(client, "/v1/models", key) for key in (KEY, KEY[:-1])] == [200, 401]


async def test_mobile_tokens_may_be_signed_with_a_key_of_a_jwks(settings: Settings, tmp_path: Path) -> None:
    private = ed25519.Ed25519PrivateKey.generate()
    entry = jwt.get_algorithm_by_name("EdDSA").to_jwk(private.public_key(), as_dict=True)
    (tmp_path / "jwks.json").write_text(json.dumps({"keys": [{**entry, "kid": "k1"}]}), encoding="utf-8")
    settings = dataclasses.replace(settings, jwt_secret="", jwt_jwks=str(tmp_path / "jwks.json"))
    now = int(time.time())
    claims = _claims(settings, iat=now, exp=now + 60)
    tokens = [jwt.encode(claims, private, algorithm="EdDSA", headers={"kid": kid}) for kid in ("k1", "k2")]
    async with running(settings, FakeTriton()) as client:
        assert [await status_of(client, VOICES, token) for token in tokens] == [200, 401]


@pytest.mark.parametrize(
    ("leeway", "late", "status"), [(None, 3, 200), (None, 60, 401), (0.0, 30, 401), (300.0, 30, 200)]
)
async def test_a_mobile_token_may_be_late_by_the_leeway(
    settings: Settings, leeway: float | None, late: int, status: int
) -> None:
    if leeway is not None:
        settings = dataclasses.replace(settings, jwt_leeway_seconds=leeway)
    async with running(settings, FakeTriton()) as client:
        # After the start, which takes seconds on a busy machine.
        now = int(time.time())
        token = jwt.encode(_claims(settings, iat=now - 90, exp=now - late), settings.jwt_secret, algorithm="HS256")
        assert await status_of(client, VOICES, token) == status


@pytest.mark.settings(wrong_keys_a_minute=10)
async def test_refusals_of_many_wrong_keys_wait_and_the_right_key_does_not(client: Client) -> None:
    assert {await status_of(client, "/v1/models", KEY[:-1]) for _ in range(10)} == {401}
    late = asyncio.create_task(status_of(client, "/v1/models", KEY[:-1]))
    assert await status_of(client, "/v1/models", KEY) == 200
    assert not late.done()
    late.cancel()


HEADERS = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")


@pytest.fixture
async def limited(limits_clock: LimitsClock, settings: Settings, client: Client) -> dict[str, str]:
    """The header of a key that may embed five times a minute."""
    return bearer(await other_key(settings, limits={"embeddings": 5}))


async def _ask(client: Client, headers: dict[str, str], body: Any = None) -> Any:
    return await client.post(EMBED, json=body or {"input": "a"}, headers=headers)


async def test_remaining_counts_down(client: Client, limited: dict[str, str]) -> None:
    answers = [await _ask(client, limited) for _ in range(3)]
    assert [answer.headers["X-RateLimit-Remaining"] for answer in answers] == ["4", "3", "2"]
    assert {answer.headers["X-RateLimit-Limit"] for answer in answers} == {"5"}


async def test_a_refusal_names_the_limit_and_when_to_come_back(client: Client, limited: dict[str, str]) -> None:
    for _ in range(5):
        await _ask(client, limited)
    refusal = await _ask(client, limited)
    assert refusal.status == 429
    assert 1 <= int(refusal.headers["Retry-After"]) <= 60
    error = (await refusal.json())["error"]
    assert (error["type"], error["message"]) == ("rate_limit_exceeded", "rate limit exceeded (5/min)")
    assert refusal.headers["X-RateLimit-Remaining"] == "0"
    assert refusal.headers["X-RateLimit-Reset"] == refusal.headers["Retry-After"]


async def test_a_request_that_is_refused_for_its_body_has_counted(client: Client, limited: dict[str, str]) -> None:
    refusal = await _ask(client, limited, {"input": 1})
    assert refusal.status == 400
    assert refusal.headers["X-RateLimit-Remaining"] == "4"


@pytest.mark.parametrize("path", [EMBED, "/v1/rerank", "/v1/audio/speech", "/v1/audio/transcriptions"])
async def test_every_limited_endpoint_sends_its_limit(client: Client, path: str) -> None:
    answer = await client.post(path, json={})
    assert answer.status == 400
    assert all(name in answer.headers for name in HEADERS)


@pytest.mark.parametrize("path", ["/v1/models", "/v1/models/stt-1", "/health/live", "/v1/nothing", EMBED])
async def test_other_paths_send_no_limit(client: Client, path: str) -> None:
    answer = await client.get(path)
    assert not any(name in answer.headers for name in HEADERS)


async def test_a_refusal_of_a_wrong_key_has_no_limit(client: Client) -> None:
    refusal = await _ask(client, bearer(api_key.new_key()))
    assert refusal.status == 401
    assert not any(name in refusal.headers for name in HEADERS)
