"""What it costs: reserved before the work, charged as the answer goes out, and for answers that go out alone."""

from aiohttp import web
from aiohttp.typedefs import Handler

from frontend.app_keys import BILL, CALLER, HOLDING, RECORDER, SETTINGS, TURN
from frontend.http.answers import CHARGED, deliver
from frontend.http.arrival import CONTENT
from frontend.observe.logs import request_id
from frontend.usage.bill import Bill, UnchargedError
from frontend.usage.events import Identity


@web.middleware
async def billing_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Every request of a known caller has a bill; most of what is asked stays off it."""
    if CALLER not in request:
        return await handler(request)

    def identity() -> Identity:
        return Identity(request_id.get(), request.path, request[CONTENT])

    app, caller = request.app, request[CALLER]
    with Bill(app[RECORDER], app[SETTINGS].prices, caller, request[TURN], identity) as request[BILL]:
        try:
            return await _charged(request, await handler(request))
        except web.HTTPException as raised:
            if raised.status < 400 and request[BILL].open:
                raise UnchargedError from raised
            raise
        except UnchargedError:
            if request[BILL].answering and request.transport is not None:
                # No other answer can follow one that was begun.
                request.transport.abort()
            raise


async def _charged(request: web.Request, answer: web.StreamResponse) -> web.StreamResponse:
    bill, settings = request[BILL], request.app[SETTINGS]
    if answer.status >= 400:
        # A failure is free, also one that is not raised.
        bill.let_go()
    if isinstance(answer, web.Response) and isinstance(answer.body, bytes | bytearray):
        answer = await deliver(request, answer, bill, request[HOLDING], settings)
    if bill.open:
        raise UnchargedError
    return answer


async def refuse_uncharged(request: web.Request, answer: web.StreamResponse) -> None:
    """Before an answer's first byte goes out, whoever sends it."""
    if BILL in request:
        request[BILL].answer_begins(is_charged=request.get(CHARGED) is answer)
