"""What several frontends share in Redis, if one is set."""

from contextlib import AsyncExitStack

from aiohttp import web

from frontend.access.counters import Counters
from frontend.app_keys import DISPATCHER, SETTINGS
from frontend.peers.frontends import Frontends
from frontend.rings import Ring


async def _share(app: web.Application, closing: AsyncExitStack) -> tuple[Frontends, Counters]:
    # Without Redis, nothing of it is imported.
    from frontend.sharing.counters import SharedCounters
    from frontend.sharing.frontends import SharedFrontends

    settings = app[SETTINGS]
    frontends = SharedFrontends(settings.redis, lambda: app[DISPATCHER].snapshot(), lambda: app[DISPATCHER].share())
    closing.push_async_callback(frontends.close)
    counters = SharedCounters(frontends, refuse=settings.redis_outage == "refuse")
    closing.push_async_callback(counters.close)
    await counters.start()
    return frontends, counters


RINGS = (Ring(is_on=lambda settings: bool(settings.redis), shares=_share),)
