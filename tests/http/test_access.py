"""The application with other stores of keys than an SQLite file and a shared secret."""

import asyncio
import dataclasses
import json
import time
from pathlib import Path

import jwt
import pytest
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


@pytest.mark.parametrize(
    ("leeway", "late", "status"), [(None, 3, 200), (None, 60, 401), (0.0, 30, 401), (300.0, 30, 200)]
)
async def test_clocks_of_who_issues_mobile_tokens_may_be_off_by_the_leeway(
    settings: Settings, leeway: float | None, late: int, status: int
) -> None:
    if leeway is not None:
        settings = dataclasses.replace(settings, jwt_leeway_seconds=leeway)
    now = int(time.time())
    times = {"iat": now - 90, "exp": now - late}
    claims = {"sub": "a", **times, "aud": settings.jwt_audience, "iss": settings.jwt_issuer}
    headers = {"Authorization": f"Bearer {jwt.encode(claims, settings.jwt_secret, algorithm='HS256')}"}
    async with running(settings, FakeTriton()) as client:
        assert (await client.get("/api/v1/audio/voices", headers=headers)).status == status


async def test_refusals_of_many_wrong_keys_wait_and_the_right_key_does_not(settings: Settings) -> None:
    settings = dataclasses.replace(settings, wrong_keys_a_minute=10)
    async with running(settings, FakeTriton()) as client:

        async def ask(key: str) -> int:
            async with client.get("/v1/models", headers={"Authorization": f"Bearer {key}"}) as response:
                return response.status

        assert {await ask(KEY[:-1]) for _ in range(10)} == {401}
        late = asyncio.create_task(ask(KEY[:-1]))
        assert await ask(KEY) == 200
        assert not late.done()
        late.cancel()


@pytest.mark.parametrize(
    ("proxies", "addresses", "other"),
    [
        ("127.0.0.0/8", ["203.0.113.7"] * 13, "203.0.113.8"),
        ("127.0.0.0/8", [f"2001:db8:0:7::{number}" for number in range(13)], "2001:db8:0:8::1"),
        ("", [f"203.0.113.{number}" for number in range(13)], None),
    ],
    ids=["a trusted proxy's callers are told apart", "by their network of version six", "nobody else tells who calls"],
)
async def test_wrong_admin_keys_are_counted_by_where_they_come_from(
    settings: Settings, proxies: str, addresses: list[str], other: str | None
) -> None:
    settings = dataclasses.replace(settings, admin_key="a" * 32, trusted_proxies=proxies)
    async with running(settings, FakeTriton()) as client:

        async def guess(address: str) -> int:
            headers = {"Authorization": "Bearer wrong", "X-Forwarded-For": address}
            return (await client.get("/admin/v1/keys", headers=headers)).status

        assert [await guess(address) for address in addresses][-1] == 429
        assert other is None or await guess(other) == 401


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
