"""The application with other stores of keys than an SQLite file and a shared secret."""

import asyncio
import dataclasses
import json
import time
from pathlib import Path

import jwt
from cryptography.hazmat.primitives.asymmetric import ed25519

from frontend.access.registry import Registry
from frontend.config.settings import Settings
from frontend.database.engine import open_engine
from frontend.database.migrate import migrate
from tests.conftest import KEY, running
from tests.databases import PostgresServer
from tests.fakes import FakeTriton, add_key


async def test_keys_may_live_in_postgres(settings: Settings, postgres: PostgresServer) -> None:
    address = postgres.new_database()
    engine = open_engine(address)
    await migrate(engine)
    await add_key(Registry(engine), KEY)
    await engine.dispose()
    settings = dataclasses.replace(settings, database=address)
    async with running(settings, FakeTriton()) as client:
        answers = [
            await client.get("/v1/models", headers={"Authorization": f"Bearer {key}"}) for key in (KEY, KEY[:-1])
        ]
    assert [answer.status for answer in answers] == [200, 401]


async def test_mobile_tokens_may_be_signed_with_a_key_of_a_jwks(settings: Settings, tmp_path: Path) -> None:
    private = ed25519.Ed25519PrivateKey.generate()
    entry = jwt.get_algorithm_by_name("EdDSA").to_jwk(private.public_key(), as_dict=True)
    (tmp_path / "jwks.json").write_text(json.dumps({"keys": [{**entry, "kid": "k1"}]}), encoding="utf-8")
    settings = dataclasses.replace(settings, jwt_secret="", jwt_jwks=str(tmp_path / "jwks.json"))
    now = int(time.time())
    claims = {"sub": "a", "iat": now, "exp": now + 60, "aud": settings.jwt_audience, "iss": settings.jwt_issuer}
    tokens = [jwt.encode(claims, private, algorithm="EdDSA", headers={"kid": kid}) for kid in ("k1", "k2")]
    async with running(settings, FakeTriton()) as client:
        answers = [
            await client.get("/api/v1/audio/voices", headers={"Authorization": f"Bearer {token}"}) for token in tokens
        ]
    assert [answer.status for answer in answers] == [200, 401]


async def test_the_leeway_of_mobile_tokens_is_the_one_that_is_set(settings: Settings) -> None:
    now = int(time.time())
    claims = {"sub": "a", "iat": now - 90, "exp": now - 30, "aud": settings.jwt_audience, "iss": settings.jwt_issuer}
    headers = {"Authorization": f"Bearer {jwt.encode(claims, settings.jwt_secret, algorithm='HS256')}"}
    statuses = []
    for leeway in (0.0, 300.0):
        async with running(dataclasses.replace(settings, jwt_leeway_seconds=leeway), FakeTriton()) as client:
            statuses.append((await client.get("/api/v1/audio/voices", headers=headers)).status)
    assert statuses == [401, 200]


async def test_clocks_of_who_issues_mobile_tokens_may_be_seconds_off(settings: Settings) -> None:
    now, statuses = int(time.time()), []
    async with running(settings, FakeTriton()) as client:
        for late in (3, 60):
            times = {"iat": now - 90, "exp": now - late}
            claims = {"sub": "a", **times, "aud": settings.jwt_audience, "iss": settings.jwt_issuer}
            headers = {"Authorization": f"Bearer {jwt.encode(claims, settings.jwt_secret, algorithm='HS256')}"}
            statuses.append((await client.get("/api/v1/audio/voices", headers=headers)).status)
    assert statuses == [200, 401]


async def test_refusals_of_many_wrong_keys_wait_and_the_right_key_does_not(settings: Settings) -> None:
    settings = dataclasses.replace(settings, wrong_keys_a_minute=10)
    async with running(settings, FakeTriton()) as client:

        async def ask(key: str) -> tuple[int, float]:
            started = time.monotonic()
            async with client.get("/v1/models", headers={"Authorization": f"Bearer {key}"}) as response:
                return response.status, time.monotonic() - started

        wrong = [asyncio.create_task(ask(KEY[:-1])) for _ in range(12)]
        await asyncio.sleep(0.3)
        status, seconds = await ask(KEY)
        answers = [await task for task in wrong]
    assert status == 200
    assert seconds < 2
    assert {status for status, _ in answers} == {401}
    # Two wait for seconds longer than the others, however slow the machine is.
    times = sorted(seconds for _, seconds in answers)
    assert times[-2] - times[-3] > 3


async def test_wrong_keys_behind_a_trusted_proxy_are_their_senders(settings: Settings) -> None:
    settings = dataclasses.replace(settings, admin_key="a" * 32, trusted_proxies="127.0.0.0/8")
    async with running(settings, FakeTriton()) as client:

        async def guess(address: str) -> int:
            headers = {"Authorization": "Bearer wrong", "X-Forwarded-For": address}
            return (await client.get("/admin/v1/keys", headers=headers)).status

        statuses = [await guess("203.0.113.7") for _ in range(13)]
        assert statuses[-1] == 429
        assert await guess("203.0.113.8") == 401


async def test_wrong_keys_from_one_ipv6_network_are_counted_together(settings: Settings) -> None:
    settings = dataclasses.replace(settings, admin_key="a" * 32, trusted_proxies="127.0.0.0/8")
    async with running(settings, FakeTriton()) as client:

        async def guess(address: str) -> int:
            headers = {"Authorization": "Bearer wrong", "X-Forwarded-For": address}
            return (await client.get("/admin/v1/keys", headers=headers)).status

        statuses = [await guess(f"2001:db8:0:7::{number}") for number in range(13)]
        assert statuses[-1] == 429
        assert await guess("2001:db8:0:8::1") == 401


async def test_nobody_else_says_from_where_a_request_comes(settings: Settings) -> None:
    settings = dataclasses.replace(settings, admin_key="a" * 32)
    async with running(settings, FakeTriton()) as client:
        headers = {"Authorization": "Bearer wrong"}
        answers = [
            await client.get("/admin/v1/keys", headers={**headers, "X-Forwarded-For": f"203.0.113.{number}"})
            for number in range(13)
        ]
    assert answers[-1].status == 429


async def test_guesses_of_the_admin_key_are_429_and_the_right_one_is_let_in(settings: Settings) -> None:
    settings = dataclasses.replace(settings, admin_key="a" * 32)
    async with running(settings, FakeTriton()) as client:

        async def ask(path: str, key: str) -> tuple[int, int]:
            async with client.get(path, headers={"Authorization": f"Bearer {key}"}) as response:
                return response.status, int(response.headers.get("Retry-After", 0))

        answers = [await ask("/admin/v1/keys", "b" * 32) for _ in range(13)]
        right, other = await ask("/admin/v1/keys", settings.admin_key), await ask("/v1/models", KEY[:-1])
    assert [status for status, _ in answers] == [401] * 11 + [429] * 2
    assert {0 < seconds <= 6 for status, seconds in answers if status == 429} == {True}
    # Wrong API keys are another matter.
    assert (right, other) == ((200, 0), (401, 0))
