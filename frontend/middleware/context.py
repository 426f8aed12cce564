"""Whose turn it is, what the queues know of a request, and what is held for it."""

import asyncio
from collections.abc import Collection

from aiohttp import web
from aiohttp.typedefs import Handler

from frontend.access.caller import Caller
from frontend.app_keys import CALLER, CONTEXT, HELD, HOLDING, SETTINGS
from frontend.config.tables import LEVELS
from frontend.dispatch.context import RequestContext
from frontend.dispatch.scheduler import BULK
from frontend.http.held import Holding


def context_of(caller: Caller, owners: Collection[str], seconds: float) -> RequestContext:
    """The caller's turn for the next ``seconds``; of ``owners``, who have floors, it may be its key or organisation.

    Bulk work has no floor: it would go before the organisation's own callers.
    """
    names = [] if LEVELS[caller.tier] == BULK else [f"key:{caller.id}", *([f"org:{caller.org}"] if caller.org else [])]
    owner = next((name for name in names if name in owners), None)
    return RequestContext(caller.id, LEVELS[caller.tier], owner, asyncio.get_running_loop().time() + seconds)


def holder_of(caller: Caller) -> str:
    """Whose the bytes are that are held for the caller: all bulk work is one, since it waits while others are served.

    Several keys of it, each with the half that a key may have, would leave nothing to the others.
    """
    return "tier:bulk" if LEVELS[caller.tier] == BULK else caller.id


@web.middleware
async def context_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Every request of a known caller has a deadline from here on, and is let go of with all it holds at its end."""
    if CALLER not in request:
        return await handler(request)
    settings, caller = request.app[SETTINGS], request[CALLER]
    context = request[CONTEXT] = context_of(caller, settings.floor_owners, settings.request_seconds)
    # What the caller takes to send its body is not taken from what it has.
    request.content.on_eof(lambda: context.restart(settings.request_seconds))
    with Holding(request.app[HELD], holder_of(caller)) as request[HOLDING]:
        return await handler(request)
