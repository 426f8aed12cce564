"""The request context for the queues, and the request's memory reservation."""

import asyncio
from collections.abc import Collection

from aiohttp import web
from aiohttp.typedefs import Handler

from frontend.access.caller import Caller
from frontend.app_keys import CALLER, CONTEXT, MEMORY_BUDGET, MEMORY_RESERVATION, SETTINGS
from frontend.config.tables import LEVELS
from frontend.dispatch.context import RequestContext
from frontend.dispatch.scheduler import BULK
from frontend.http.memory import MemoryReservation


def context_of(caller: Caller, owners: Collection[str], seconds: float) -> RequestContext:
    """The caller's request context for the next ``seconds``.

    ``owners`` have floors: its key or organisation may be one. Bulk work has no floor, or it would go before the
    organisation's own callers.
    """
    names = [] if LEVELS[caller.tier] == BULK else [f"key:{caller.id}", *([f"org:{caller.org}"] if caller.org else [])]
    owner = next((name for name in names if name in owners), None)
    return RequestContext(caller.id, LEVELS[caller.tier], owner, asyncio.get_running_loop().time() + seconds)


def holder_of(caller: Caller) -> str:
    """The owner of the caller's memory reservation.

    All bulk work shares one owner, since it waits while others are served. With one owner per key, bulk keys could
    reserve all memory.
    """
    return "tier:bulk" if LEVELS[caller.tier] == BULK else caller.id


@web.middleware
async def context_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Give each authenticated request a deadline, and release its memory at its end."""
    if CALLER not in request:
        return await handler(request)
    settings, caller = request.app[SETTINGS], request[CALLER]
    context = request[CONTEXT] = context_of(caller, settings.floor_owners, settings.request_seconds)
    # The time to send the body does not count.
    request.content.on_eof(lambda: context.restart(settings.request_seconds))
    with MemoryReservation(request.app[MEMORY_BUDGET], holder_of(caller)) as request[MEMORY_RESERVATION]:
        return await handler(request)
