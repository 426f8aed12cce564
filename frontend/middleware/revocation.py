"""Ends what a key has open when it is revoked."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from frontend.access.open_keys import OpenKeys
from frontend.errors import Unauthorized
from frontend.http.connection import ON_REVOKED, break_off


@asynccontextmanager
async def ended_with_key(request: web.Request, keys: OpenKeys, key: str) -> AsyncIterator[None]:
    """End the request in the block soon after its key is revoked.

    Before an answer has begun, it raises ``Unauthorized``. One that has begun breaks off: its caller has hung up. What
    has an end of its own (``ON_REVOKED``) is told.
    """
    deadline, failures = asyncio.timeout(None), list[Unauthorized]()

    def end(failure: Unauthorized) -> None:
        if (own := request.get(ON_REVOKED)) is not None:
            own(failure)
        elif request.writer.output_size:
            break_off(request, failed=False)
        elif not failures:
            failures.append(failure)
            deadline.reschedule(0.0)

    try:
        async with deadline:
            with keys.open(key, end):
                yield
    except TimeoutError:
        if failures and deadline.expired():
            raise failures[0] from None
        raise
