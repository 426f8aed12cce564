"""Secrets are rotated as docs/operations.md has it, while callers call."""

import asyncio
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path

import aiohttp
from redis import Redis

from frontend.access.jwt import Tokens
from frontend.config.reading import FROM_FILE, PREFIX
from tests.conftest import KEY, bearer
from tests.databases import PostgresServer
from tests.eventually import until
from tests.faults.served import Served
from tests.frontends import prepare
from tests.redis import RedisServer

_ROLE = "quartet"
_OLD, _NEW = "old" * 12, "new" * 12


def _write(folder: Path, secret: str, database: str, redis: str) -> dict[str, str]:
    """Write one secret into the files of all settings that are secrets; returns the settings that name the files."""
    values = {
        "JWT_SECRET": secret,
        "ADMIN_KEY": secret,
        "DATABASE": database.replace("//postgres@", f"//{_ROLE}:{secret}@"),
        "REDIS": redis.replace("//", f"//:{secret}@"),
    }
    for name, value in values.items():
        (folder / name).write_text(value, encoding="utf-8")
    return {f"{PREFIX}{name}{FROM_FILE}": str(folder / name) for name in values}


def _is_known(url: str, key: str, body: bytes | None = None) -> bool:
    headers = {**bearer(key), "Content-Type": "application/json"}
    try:
        urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=60).close()
    except urllib.error.HTTPError as error:
        return error.code != 401
    return True


def _let_in(frontend: Served, secret: str) -> list[bool]:
    """Whether a token signed with the secret, and the secret as admin key, are accepted."""
    token = Tokens("quartet-mobile", "quartet", secret).issue("phone-1", 600)
    keys = f"{frontend.admin_url}/admin/v1/keys"
    return [_is_known(f"{frontend.url}/api/v1/audio/synthesize", token, b"{}"), _is_known(keys, secret)]


async def _call(serving: list[Served], answered: list[int]) -> None:
    """Without an end, over a new connection each time, to the frontend that a proxy would take."""
    async with aiohttp.ClientSession(headers={**bearer(KEY), "Connection": "close"}) as session:
        while True:
            async with session.post(f"{serving[-1].url}/v1/embeddings", json={"input": "a word"}) as response:
                answered.append(response.status)
            await asyncio.sleep(0.05)


async def test_secrets_are_rotated_and_no_caller_notices(
    tmp_path: Path, postgres: PostgresServer, redis_server: RedisServer
) -> None:
    environ = await asyncio.to_thread(prepare, tmp_path, postgres.new_database(), STOP_DELAY_SECONDS=1)
    database, redis = environ.pop(f"{PREFIX}DATABASE"), Redis.from_url(redis_server.url)
    postgres.set_password(_ROLE, _OLD)
    redis.acl_setuser("default", enabled=True, passwords=f"+{_OLD}")
    redis.close()
    own = _write(tmp_path, _OLD, database, redis_server.url)
    old, new = (Served({**environ, **own}, tmp_path / f"log{number}") for number in range(2))
    serving, answered = [old], list[int]()
    try:
        await old.start()
        assert _let_in(old, _OLD) == [True, True]
        calling = asyncio.create_task(_call(serving, answered))
        with Redis.from_url(redis_server.url, password=_OLD) as redis:
            redis.acl_setuser("default", enabled=True, passwords=f"+{_NEW}")
            postgres.set_password(_ROLE, _NEW)
            _write(tmp_path, _NEW, database, redis_server.url)
            await new.start()
            serving.append(new)
            assert await old.stop() == 0
            redis.acl_setuser("default", enabled=True, passwords=f"-{_OLD}")
        before = len(answered)
        await until(lambda: calling.done() or len(answered) > before + 10)
        calling.cancel()
        with suppress(asyncio.CancelledError):
            await calling
        assert set(answered) == {200}
        assert (_let_in(new, _OLD), _let_in(new, _NEW)) == ([False, False], [True, True])
    finally:
        for frontend in (old, new):
            frontend.kill()
