from collections.abc import AsyncIterator

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

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
