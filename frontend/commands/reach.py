"""Check in parallel whether the services in the settings can be reached. It changes nothing."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import cast

import aiohttp
from redis.asyncio import Redis
from redis.exceptions import RedisError
from sqlalchemy import text

from frontend.access.jwks import Jwks, is_address
from frontend.config.pools import PoolSetting, TritonAddress
from frontend.config.reading import PREFIX
from frontend.config.settings import Settings
from frontend.database.engine import DATABASE_FAILURES, open_engine, parse_url, reading
from frontend.discovery.resolver import Resolver, Unresolved
from frontend.errors import AccountRefused, BadGateway
from frontend.tritons.triton import Triton

_SECONDS = 5.0  # timeout of a service


class _LackingError(Exception):
    """A service answers but lacks something."""


_FAILURES = (*DATABASE_FAILURES, RedisError, aiohttp.ClientError, ValueError, OSError, Unresolved, _LackingError)


async def reach(settings: Settings) -> list[tuple[str, bool]]:
    """Check every service; return a line and whether it is good for each, within five seconds."""
    checks: list[tuple[str, Callable[[], Awaitable[str]]]] = [("database", partial(_database, settings))]
    if settings.redis:
        checks.append(("redis", partial(_redis, settings.redis)))
    for pool in settings.tritons:
        checks += [(f"triton {named}", partial(_tritons, settings, pool, named)) for named in pool.read()]
    if settings.jwt_jwks and is_address(settings.jwt_jwks):
        checks.append((settings.jwt_jwks, partial(_jwks, settings)))
    if settings.chat_upstream:
        checks.append((settings.chat_upstream, partial(_chat, settings)))
    return list(await asyncio.gather(*(_line(name, ask) for name, ask in checks)))


async def _line(name: str, ask: Callable[[], Awaitable[str]]) -> tuple[str, bool]:
    try:
        async with asyncio.timeout(_SECONDS):
            return f"{name}: {await ask()}", True
    except TimeoutError:
        return f"{name}: no answer within {_SECONDS:g} s", False
    except _FAILURES as error:
        # Messages of drivers have several lines and may end with a link.
        lines = str(getattr(error, "orig", None) or error).splitlines()
        return f"{name}: {lines[0] if lines else type(error).__name__}", False


async def _database(settings: Settings) -> str:
    url = parse_url(settings.database)
    if url.get_backend_name() == "sqlite":
        return f"{url.database}, made at the first start where it is missing"
    engine = open_engine(settings.database, 1)
    try:
        async with reading(engine).connect() as connection:
            most = int(str((await connection.execute(text("SHOW max_connections"))).scalar_one()))
    finally:
        await engine.dispose()
    # One pool for keys and one for usage.
    own = 2 * settings.database_connections * settings.workers
    if own > most:
        raise _LackingError(f"has {most} connections, and the {settings.workers} workers may want {own}")
    return f"reached; this frontend has {own} of its {most} connections at most"


async def _redis(url: str) -> str:
    redis: Redis = Redis.from_url(url, socket_connect_timeout=_SECONDS, socket_timeout=_SECONDS)
    async with redis:
        await cast(Awaitable[bool], redis.ping())
    return "reached"


async def _tritons(settings: Settings, pool: PoolSetting, named: TritonAddress) -> str:
    """Ask each address of a name."""
    addresses = await Resolver(settings.dns).addresses(named.host)
    if not addresses:
        raise _LackingError("the name has no address")
    ready = min(await asyncio.gather(*(_triton(settings, pool, named, address) for address in addresses)))
    return f"reached; {ready} models are ready" + (f" at {len(addresses)} addresses" if len(addresses) > 1 else "")


async def _triton(settings: Settings, pool: PoolSetting, named: TritonAddress, address: str) -> int:
    triton = Triton(str(replace(named, host=address)), pool.tls(named.host), settings.triton_secret)
    slots = pool.slots(settings.served.triton_models, 0)
    try:
        lacking = slots.keys() - await triton.ready_models(list(slots))
    except AccountRefused:
        raise _LackingError(f"reached; refuses this {PREFIX}TRITON_SECRET") from None
    except BadGateway:
        raise _LackingError("nobody answers") from None
    finally:
        await triton.close()
    if lacking:
        raise _LackingError(f"reached; not ready: {', '.join(sorted(lacking))}")
    return len(slots)


async def _jwks(settings: Settings) -> str:
    return f"{len(await Jwks(settings.jwt_jwks, settings.jwt_jwks_seconds).load())} keys"


async def _chat(settings: Settings) -> str:
    headers = {"Authorization": f"Bearer {settings.chat_upstream_key}"} if settings.chat_upstream_key else {}
    address = f"{settings.chat_upstream.rstrip('/')}/models"
    async with aiohttp.ClientSession(headers=headers) as session, session.get(address) as response:
        if response.status in (401, 403):
            raise _LackingError(f"refuses the key ({response.status})")
        return f"reached (status {response.status})"
