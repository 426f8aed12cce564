from collections.abc import AsyncIterator
from typing import Any

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from frontend.administration.registry import Registry
from frontend.database.engine import open_engine
from frontend.database.migrate import migrate
from tests.redis import RedisServer


@pytest.fixture
async def engine(empty_database: str) -> AsyncIterator[AsyncEngine]:
    opened = open_engine(empty_database)
    await migrate(opened)
    yield opened
    await opened.dispose()


@pytest.fixture
async def own_redis(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RedisServer]:
    server = RedisServer(tmp_path_factory.mktemp("own"))
    server.start()
    yield server
    server.kill()


async def create_key(registry: Registry, **values: Any) -> str:
    """Create a key with these values and defaults for the others."""
    defaults: dict[str, Any] = {"name": "test", "tier": "free", "org": None, "limits": {}, "expires_at": None}
    return await registry.create(**{**defaults, **values})
