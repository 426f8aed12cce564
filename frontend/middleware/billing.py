"""Billing: no priced answer goes out without a charge."""

from aiohttp import web
from aiohttp.typedefs import Handler

from frontend.app_keys import BILLING, CALLER, CONTEXT, RECORDER, SETTINGS
from frontend.http.answers import CHARGED, deliver
from frontend.http.arrival import CONTENT
from frontend.observe.logs import request_id
from frontend.usage.bill import Billing, IdempotencyKey, UnchargedError


@web.middleware
async def billing_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Attach a bill to each authenticated request. An answer that its handler did not deliver itself is free."""
    if CALLER not in request:
        return await handler(request)

    def idempotency_key() -> IdempotencyKey:
        return IdempotencyKey(request_id.get(), request.path, request[CONTENT])

    app, caller = request.app, request[CALLER]
    if caller.payer is not None and request.body_exists:
        # Before the body is in memory, which others need.
        await app[RECORDER].wallets.ready(caller.payer)
    prices = app[SETTINGS].prices
    with Billing(app[RECORDER], prices, caller, request[CONTEXT], idempotency_key) as request[BILLING]:
        try:
            return await _free(request, await handler(request))
        except web.HTTPException as raised:
            if raised.status >= 400:
                raise
            return await _free(request, raised)
        except UnchargedError:
            if request[BILLING].answering and request.transport is not None:
                # No other answer can follow one that has begun.
                request.transport.abort()
            raise


async def _free(request: web.Request, answer: web.StreamResponse) -> web.StreamResponse:
    if not answer.prepared:
        # At this point, another answer can still replace this one.
        request[BILLING].refuse_free(answer.status)
        if isinstance(answer, web.Response) and isinstance(answer.body, bytes):
            return await deliver(request, answer.headers, answer.body, status=answer.status)
    return answer


async def refuse_uncharged(request: web.Request, answer: web.StreamResponse) -> None:
    """Check the charge before the first byte of any answer."""
    if BILLING in request:
        request[BILLING].answer_begins(answer.status, is_charged=request.get(CHARGED) is answer)
