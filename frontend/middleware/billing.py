"""Billing: each request with a known caller has at most one bill, which is charged with its answer or released."""

from functools import partial

from aiohttp import web
from aiohttp.typedefs import Handler

from frontend.app_keys import BILLING, CALLER, CHARGES, CONTEXT, SETTINGS
from frontend.billing.bill import Billing, IdempotencyKey, UnchargedError
from frontend.http.answers import deliver


@web.middleware
async def billing_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Let the handler reserve, and deliver an answer that it only returned."""
    if CALLER not in request:
        return await handler(request)
    charges, caller = request.app[CHARGES], request[CALLER]
    if caller.payer is not None and request.body_exists:
        # Before the body is in memory, which others need.
        await charges.wallets.ready(caller.payer)
    key = partial(IdempotencyKey.of, request)
    with Billing(charges, request.app[SETTINGS].prices, caller, request[CONTEXT], key) as request[BILLING]:
        try:
            return await _delivered(request, await handler(request))
        except web.HTTPException as raised:
            if raised.status >= 400:
                raise
            return await _delivered(request, raised)
        finally:
            # It refers to the request, and only garbage collection would free what refers to itself.
            del request[BILLING]


async def _delivered(request: web.Request, answer: web.StreamResponse) -> web.StreamResponse:
    if answer.prepared:
        return answer
    if isinstance(answer, web.Response) and isinstance(answer.body, bytes):
        return await deliver(request, answer.headers, answer.body, status=answer.status)
    # A file, for example, which aiohttp sends.
    if request[BILLING].answer_with(answer.status) is not None:
        raise UnchargedError
    return answer
