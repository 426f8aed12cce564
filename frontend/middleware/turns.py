"""Whose turn it is: what the queue of a model knows of a request."""

import asyncio
from collections.abc import Collection, Mapping

from aiohttp import web
from aiohttp.typedefs import Handler

from frontend.access.caller import Caller
from frontend.config_tables import TIERS
from frontend.dispatch.model_queue import Turn
from frontend.keys import CALLER, SETTINGS, TURN

_LEVELS: Mapping[str, int] = {tier: len(TIERS) - place for place, tier in enumerate(TIERS)}


def turn_of(caller: Caller, owners: Collection[str], seconds: float) -> Turn:
    """The caller's turn for the next ``seconds``; of ``owners``, who have floors, it may be its key or organisation."""
    owner = next((name for name in (caller.name, caller.org) if name in owners), None)
    return Turn(caller.id, _LEVELS[caller.tier], owner, asyncio.get_running_loop().time() + seconds)


@web.middleware
async def turns_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Every request of a known caller has a deadline from here on."""
    if CALLER in request:
        settings = request.app[SETTINGS]
        request[TURN] = turn_of(request[CALLER], settings.floor_owners, settings.request_seconds)
    return await handler(request)
