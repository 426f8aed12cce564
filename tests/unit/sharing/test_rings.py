"""Redis is not left out in silence."""

from contextlib import AsyncExitStack

import pytest
from aiohttp import web

from frontend.app_keys import RINGS, SETTINGS
from frontend.config.reading import SettingsError
from frontend.config.settings import Settings
from frontend.parts import _frontends


async def test_redis_without_the_folder_that_uses_it_is_refused() -> None:
    app = web.Application()
    app[SETTINGS], app[RINGS] = Settings(redis="redis://127.0.0.1:1"), ()
    with pytest.raises(SettingsError, match="QUARTET_REDIS: .*frontend/sharing"):
        await _frontends(app, AsyncExitStack())
