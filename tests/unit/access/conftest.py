from collections.abc import AsyncIterator

import pytest

from tests.redis import RedisServer


@pytest.fixture
async def own_redis(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RedisServer]:
    server = RedisServer(tmp_path_factory.mktemp("own"))
    server.start()
    yield server
    server.kill()
